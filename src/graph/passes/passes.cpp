// SPDX-License-Identifier: BSD-3-Clause
#include "graph/passes/passes.h"

#include "graph/verify.h"

namespace magneto::graph {

void clean_up(Graph& graph, bool grad_enabled) {
  inline_single_subgraphs(graph);
  remove_cancelling_grad_modes(graph, grad_enabled);
  remove_dead_reads(graph);
  remove_unused_inputs(graph);
  check_sound(graph, "clean-up");
}

}  // namespace magneto::graph
