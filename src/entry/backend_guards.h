// SPDX-License-Identifier: BSD-3-Clause
// What the callable that a backend has made relies on, besides what the trace
// does: guards that it asks for.
#pragma once

#include <span>

#include "values/model/context.h"

namespace magneto::entry {

// `list`: tuples, each told by its first item:
//
//   ("same", i, j)          inputs i and j of the graph are one object
//   ("condition", tree)     holds for the call that is compiled; `tree` is as
//                           magneto.backends.symbols writes it
//   ("forward mode",)       no level of forward-mode differentiation is entered
//
// `inputs`: of the graph. False with a Python error set.
bool add_backend_guards(values::Context& ctx, PyObject* list,
                        std::span<const guards::Request> inputs);

}  // namespace magneto::entry
