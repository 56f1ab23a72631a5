// SPDX-License-Identifier: BSD-3-Clause
// The graph as text, for logs of the tracer and for tests. The same graph gives
// the same text in every process: no addresses, no hash order. (The text that
// users read is torch.fx's, made by python/magneto/graph_text.py.)
//
//   l_x_ = input L['x'] : float32[2, 3]
//   add = add(l_x_, 1) : float32[2, 3]
//   sum_1 = .sum(add, -1, keepdim=True) : float32[2, 1]
//   return (sum_1,)
//
// A nested graph is indented below the first node that reads it; "lifted x"
// says that an input stands for x of the graph around it.
#pragma once

#include <string>

#include "graph/graph.h"

namespace magneto::graph {

// Prints constants with repr(), so it may run user code.
std::string print(const Graph& graph);

}  // namespace magneto::graph
