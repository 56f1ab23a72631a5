// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "python/v311/only.h"

namespace magneto::python {

inline PyObject* next_in_set(PyObject* set, Py_ssize_t* position) noexcept {
  PyObject* item = nullptr;
  Py_hash_t hash = 0;
  return _PySet_NextEntry(set, position, &item, &hash) ? item : nullptr;
}

}  // namespace magneto::python
