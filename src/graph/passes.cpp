// SPDX-License-Identifier: BSD-3-Clause
#include "graph/passes.h"

#include "support/check.h"

namespace magneto::graph {

void clean_up(Graph& graph, bool grad_enabled) {
  remove_cancelling_grad_modes(graph, grad_enabled);
  remove_dead_reads(graph);
  remove_unused_inputs(graph);
#ifdef MAGNETO_DEBUG
  const std::string problem = verify(graph);
  MG_CHECK(problem.empty(), "a pass broke the graph: " + problem);
#endif
}

}  // namespace magneto::graph
