// SPDX-License-Identifier: BSD-3-Clause
// CPython 3.11: a thread has a stack of what is being handled, with one item
// for itself and one for each generator that it is in.
#include "python/handled.h"

#include "python/v311/only.h"

namespace magneto::python {

PyObject* handled_exception() noexcept {
  for (_PyErr_StackItem* item = PyThreadState_Get()->exc_info; item;
       item = item->previous_item)
    if (item->exc_value && item->exc_value != Py_None) return item->exc_value;
  return nullptr;
}

HandledScope::HandledScope() noexcept : item_(PyThreadState_Get()->exc_info) {}

void HandledScope::set(Ref exception) noexcept {
  if (!exception && !is_changed_) return;
  if (!is_changed_) {
    before_ = Ref::share(item_->exc_value);
    is_changed_ = true;
  }
  if (!exception) exception = before_.share();
  Ref old = Ref::steal(std::exchange(item_->exc_value, exception.release()));
}

HandledScope::~HandledScope() { set(nullptr); }

}  // namespace magneto::python
