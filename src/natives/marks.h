// SPDX-License-Identifier: BSD-3-Clause
// What users have said of a function with torch.compiler's marks: disable,
// allow_in_graph, disallow_in_graph, assume_constant_result.
#pragma once

#include "values/protocol/protocol.h"

namespace magneto::natives {

enum class Mark : uint8_t {
  None,
  Disabled,    // a graph break where it is called
  Disallowed,  // the same, for functions that would go into the graph
  InGraph,     // recorded as one call, run on fake tensors
  Constant,    // called for real while tracing; the result is a constant
  // By torch itself, of a function of its own (Optimizer.zero_grad): as
  // Disabled, but where a row of the tables says better.
  DisabledByTorch,
};

// Runs no user code.
Mark mark_of(PyObject* callable);

// Guards that a function which has no mark at `source` has none in other calls.
void rely_on_no_mark(values::Context& ctx, guards::SourceId source,
                     PyObject* function);

// Calls a callable that has a mark, as a native is called.
Outcome<values::V> call_marked(values::Context& ctx, PyObject* callable,
                               Mark mark, const values::Arguments& args);

}  // namespace magneto::natives
