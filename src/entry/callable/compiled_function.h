// SPDX-License-Identifier: BSD-3-Clause
// `magneto._C.CompiledFunction`: what compile() returns for a function. Called
// through vectorcall; on a hit with a direct program no Python frame is made.
//
//   CompiledFunction(function, settings, anchor=None)
//
// `function` is a Python function or a bound method of one. What is compiled is
// kept with the code object `anchor`, or the function's own.
#pragma once

#include "python/ref.h"

namespace magneto::entry {

bool init_compiled_function_type(PyObject* module);
bool is_compiled_function(PyObject* object) noexcept;
// The function or method that it was made of, borrowed.
PyObject* compiled_function_target(PyObject* object) noexcept;

}  // namespace magneto::entry
