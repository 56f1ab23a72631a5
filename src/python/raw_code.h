// SPDX-License-Identifier: BSD-3-Clause
// Where a code object has what the bytecode room decodes.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bytecode/decode.h"

namespace magneto::python {

// The bytecode is the buffer that the interpreter runs and specialises:
// decode() reads through that, and so needs no copy as co_code is one.
bytecode::RawCode raw_code(PyCodeObject* code) noexcept;

}  // namespace magneto::python
