// SPDX-License-Identifier: BSD-3-Clause
// Each place that has an object counts as a reference.
#pragma once

#include "python/v311/only.h"

namespace magneto::python {

// So many references to the object are all that there are.
inline bool reference_count_is(PyObject* object, Py_ssize_t count) noexcept {
  return Py_REFCNT(object) == count;
}

}  // namespace magneto::python
