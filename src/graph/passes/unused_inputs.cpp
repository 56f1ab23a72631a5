// SPDX-License-Identifier: BSD-3-Clause
#include "graph/edit.h"
#include "graph/passes/passes.h"
#include "graph/uses.h"

namespace magneto::graph {

void remove_unused_inputs(Graph& graph) {
  const std::vector<uint32_t> uses = count_uses(graph);
  std::vector<NodeId> unused;
  for (const Input& input : graph.inputs()) {
    if (uses[input.node.index] == 0 && !input.is_kept)
      unused.push_back(input.node);
  }
  erase(graph, unused);
}

}  // namespace magneto::graph
