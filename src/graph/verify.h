// SPDX-License-Identifier: BSD-3-Clause
// What must hold of every finished graph.
#pragma once

#include <string>

#include "graph/graph.h"

namespace magneto::graph {

// The first thing that is wrong with the graph or one nested in it, or "" when
// it is sound: each operand is a node of the same graph that is computed before
// it is used, inputs and placeholders agree, targets have the right types,
// graphs that are read are nested in the one that reads them, there is one
// output and what stands behind it are inputs.
std::string verify(const Graph& graph);

// Debug builds only: `what` has just been done to the graph.
inline void check_sound(const Graph& graph, const char* what) {
#ifdef MAGNETO_DEBUG
  const std::string problem = verify(graph);
  MG_CHECK(problem.empty(), std::string(what) + " broke the graph: " + problem);
#else
  (void)graph;
  (void)what;
#endif
}

}  // namespace magneto::graph
