// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/foreign.h"

#include "python/find.h"
#include "python/frame.h"
#include "python/pending_error.h"

namespace magneto::entry {
namespace {

// torch._C._dynamo.eval_frame.set_eval_frame(callback): the thread's callback,
// and the one before is returned. Kept for the life of the process.
PyObject* set_eval_frame() {
  static PyObject* function = nullptr;
  if (function) return function;
  Ref module = import_module("torch._C._dynamo.eval_frame");
  function =
      module ? PyObject_GetAttrString(module, "set_eval_frame") : nullptr;
  return function;
}

Ref exchange_callback(PyObject* callback) {
  PyObject* function = set_eval_frame();
  Ref before =
      Ref::steal(function ? PyObject_CallOneArg(function, callback) : nullptr);
  if (!before) PyErr_Clear();  // some other tool's hook: nothing to pause
  return before;
}

}  // namespace

ForeignPause::ForeignPause() noexcept {
  if (!python::foreign_frame_hook()) return;
  callback_ = exchange_callback(Py_None);
  if (callback_.get() == Py_None) callback_ = nullptr;
}

ForeignPause::~ForeignPause() {
  if (!callback_) return;
  python::PendingError error = python::PendingError::take();
  (void)exchange_callback(callback_);
  std::move(error).restore();
}

}  // namespace magneto::entry
