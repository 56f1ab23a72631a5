// SPDX-License-Identifier: BSD-3-Clause
// Functions of numbers, for arguments that are Symbols.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// A null value if the function isn't one of these, if no argument is a Symbol,
// or if the result can't be written as an expression: then the function's own
// row counts, for the numbers of the call that is traced.
Outcome<V> call_symbolic(Context& ctx, PyObject* callable,
                         const Arguments& args);

}  // namespace magneto::natives
