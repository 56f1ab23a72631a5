// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::python {

// Whether two code objects have the same instructions, however specialised.
bool same_instructions(PyCodeObject* a, PyCodeObject* b) noexcept;

}  // namespace magneto::python
