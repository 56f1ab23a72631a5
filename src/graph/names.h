// SPDX-License-Identifier: BSD-3-Clause
// Names of nodes, as torch.compile would give them: `l_x_` for the input
// L['x'], the variable that a value was stored in, else the called function's
// name; each unique, none shadowing a builtin.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace magneto::graph {

struct Names {
  // By NodeId. Erased nodes have names as well: they were named before they
  // were erased, so erasing one doesn't rename the others.
  std::vector<std::string> nodes;
  // By NodeId: the name when the node was recorded, before its value was stored
  // in a variable; what `source_fn_stack` calls it.
  std::vector<std::string> recorded;
  // By index in Graph::inputs(): parameter names of forward(), `L_x_`.
  std::vector<std::string> parameters;
};

// Reads `__name__` of callables, which may run user code when a user's object
// was put in the graph; so never call it while a trace is open. An input of a
// nested graph that was lifted is called what the value was called outside when
// the graph was begun, so the names of the graphs around it are made as well.
Names assign_names(const Graph& graph);

// Those of all graphs of a tree, each made when first asked for.
class TreeNames {
 public:
  const Names& of(const Graph& graph);

 private:
  std::unordered_map<GraphId, Names> names_;
};

}  // namespace magneto::graph
