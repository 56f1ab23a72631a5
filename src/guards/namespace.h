// SPDX-License-Identifier: BSD-3-Clause
// Dicts that are the namespace of a module: the globals of inlined functions.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::guards {

// The imported module whose __dict__ this dict is; null if there is none.
// Borrowed. The dict lives as long as the module does.
PyObject* module_of_namespace(PyObject* dict) noexcept;

}  // namespace magneto::guards
