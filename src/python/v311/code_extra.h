// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "python/v311/only.h"

namespace magneto::python {

inline Py_ssize_t new_extra_index(void (*release)(void*) noexcept) noexcept {
  return _PyEval_RequestCodeExtraIndex(release);
}

inline void* get_extra(PyCodeObject* code, Py_ssize_t index) noexcept {
  void* extra = nullptr;
  // Fails for what is no code object.
  (void)_PyCode_GetExtra(reinterpret_cast<PyObject*>(code), index, &extra);
  return extra;
}

inline bool set_extra(PyCodeObject* code, Py_ssize_t index,
                      void* extra) noexcept {
  if (_PyCode_SetExtra(reinterpret_cast<PyObject*>(code), index, extra) == 0)
    return true;
  PyErr_Clear();
  return false;
}

}  // namespace magneto::python
