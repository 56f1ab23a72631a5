// SPDX-License-Identifier: BSD-3-Clause
#include "graph/passes.h"
#include "graph/uses.h"

namespace magneto::graph {

void remove_unused_inputs(Graph& graph) {
  const std::vector<uint32_t> uses = count_uses(graph);
  for (const Input& input : graph.inputs()) {
    if (uses[input.node.index] == 0 && !input.is_kept) graph.erase(input.node);
  }
  graph.drop_erased_inputs();
}

}  // namespace magneto::graph
