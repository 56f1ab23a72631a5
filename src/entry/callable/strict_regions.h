// SPDX-License-Identifier: BSD-3-Clause
// torch._dynamo.error_on_graph_break(True): where a graph break is an error
// without fullgraph=True.
#pragma once

#include "values/model/context.h"

namespace magneto::entry {

// Whether the trace is in such a region now. That is a variable of a module,
// which is guarded.
bool is_in_strict_region(values::Context& ctx);

}  // namespace magneto::entry
