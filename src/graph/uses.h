// SPDX-License-Identifier: BSD-3-Clause
// Which nodes an argument tree refers to, and how often each node is used.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace magneto::graph {

// Calls visit(NodeId) for each leaf that is a node, in order.
template <class Visit>
void visit_nodes(const Arg& arg, Visit&& visit) {
  if (arg.is_node()) {
    visit(arg.node());
    return;
  }
  for (const Arg& item : arg.items()) visit_nodes(item, visit);
}

template <class Visit>
void visit_operands(const Node& node, Visit&& visit) {
  for (const Arg& arg : node.args) visit_nodes(arg, visit);
  for (const Keyword& keyword : node.kwargs) visit_nodes(keyword.value, visit);
}

// By NodeId: how many times nodes that weren't erased refer to it.
inline std::vector<uint32_t> count_uses(const Graph& graph) {
  std::vector<uint32_t> uses(graph.node_count(), 0);
  for (const Node& node : graph.nodes()) {
    if (node.erased) continue;
    visit_operands(node, [&](NodeId id) { ++uses[id.index]; });
  }
  return uses;
}

}  // namespace magneto::graph
