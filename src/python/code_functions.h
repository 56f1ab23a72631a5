// SPDX-License-Identifier: BSD-3-Clause
// What the extension module offers of code objects, for tests and tools.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::python {

// For PyModule_AddFunctions:
//
// roundtrip_code(code) -> str | None
//   Decodes, encodes and decodes again. None when everything came back: the
//   bytecode, exception table and line table byte for byte, and the
//   instructions that they mean; else what is different.
// rebuild_code(code) -> code
//   A new code object made by decoding and encoding.
// disassemble_code(code) -> str
PyMethodDef* code_functions();

}  // namespace magneto::python
