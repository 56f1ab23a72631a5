// SPDX-License-Identifier: BSD-3-Clause
// Objects whose death nobody notices: see guards/finalizer.h.
#include "guards/check.h"
#include "guards/finalizer.h"
#include "guards/wording.h"
#include "python/deque_layout.h"

namespace magneto::guards {

bool check_NoFinalizer(const Check&, PyObject* value) noexcept {
  return !has_finalizer(value);
}

Wording word_NoFinalizer(const Check&, const std::string& name, PyObject*) {
  return {"nothing runs when " + name + " dies", "something does"};
}

bool check_NoFinalizerInDeque(const Check&, PyObject* value) noexcept {
  return python::is_deque(value) && !deque_has_finalizer(value);
}

Wording word_NoFinalizerInDeque(const Check&, const std::string& name,
                                PyObject*) {
  return {"nothing runs when an item of " + name + " dies", "something does"};
}

}  // namespace magneto::guards
