// SPDX-License-Identifier: BSD-3-Clause
// What a backend has decided about a graph's symbols.
#pragma once

#include "values/model/context.h"

namespace magneto::entry {

// Makes a condition that a backend relies on one of the trace's. `tree` is as
// magneto.backends.symbols writes it; it holds for the call that is compiled.
// False with a Python error set.
bool add_condition(values::Context& ctx, PyObject* tree);

}  // namespace magneto::entry
