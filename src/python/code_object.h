// SPDX-License-Identifier: BSD-3-Clause
// Between CPython's code objects and the bytecode room.
#pragma once

#include <string>

#include "bytecode/decode.h"
#include "bytecode/encode.h"
#include "python/ref.h"

namespace magneto::python {

// The decoded form, made on first use and kept with the code object until it
// dies. Throws InternalError when it can't be decoded.
const bytecode::Code& decoded(PyCodeObject* code);

// What a new code object has otherwise than the one that it is made after.
// nullptr, -1: as there. Tuples of str where CPython wants such.
struct CodeChanges {
  PyObject* consts = nullptr;
  PyObject* names = nullptr;
  PyObject* varnames =
      nullptr;  // arguments first; localsplus starts with these
  PyObject* cellvars = nullptr;  // one that is also an argument shares its slot
  PyObject* freevars = nullptr;
  PyObject* name = nullptr;
  PyObject* qualname = nullptr;
  int argcount = -1;  // positional-only ones included
  int posonly_argcount = -1;
  int kwonly_argcount = -1;
  int flags = -1;
};

// A new code object, or null with a Python error set.
Ref make_code(PyCodeObject* like, const bytecode::EncodedCode& encoded,
              const CodeChanges& changes);

// `more` after the whole of `code`, whose units stay what they are.
bytecode::EncodedCode join(PyCodeObject* code,
                           const bytecode::EncodedCode& more);

// The code as text for logs, with its names. Constants are printed when they
// are of built-in types whose repr runs no user code, others named by their
// type.
std::string disassembly(PyCodeObject* code);

}  // namespace magneto::python
