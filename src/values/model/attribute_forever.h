// SPDX-License-Identifier: BSD-3-Clause
// What stands in a module that nobody may have imported yet.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::values {

// An attribute of a module of magneto's or of PyTorch's, which is imported for
// it; lives as long as the process, as the module does.
PyObject* attribute_forever(const char* module, const char* name);

}  // namespace magneto::values
