// SPDX-License-Identifier: BSD-3-Clause
// Clean-up of a finished graph, one pass a file. A pass edits a sealed graph in
// place and never changes what running it does, nor the order of calls. All
// passes leave a graph that verify() accepts, and clean nested graphs up too.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace magneto::graph {

// All of the passes below, in the order that they are listed in.
// `grad_enabled`: grad mode when the graph starts to run.
void clean_up(Graph& graph, bool grad_enabled);

// The graph of a region (torch.compiler.nested_compile_region) that is called
// once takes the place of the call.
void inline_single_subgraphs(Graph& graph);

// A change of grad mode that the next call changes back is removed, both of
// them. The mode at the start may be unknown, as it is to nested graphs.
void remove_cancelling_grad_modes(Graph& graph,
                                  std::optional<bool> grad_enabled);

// Whether the graph makes no other calls than such changes: no work for a
// backend.
bool only_sets_grad_mode(const Graph& graph);

// Reads whose result nobody uses (getitem, get_attr, sizes; the table is in the
// .cpp) are removed. Other unused calls stay, as in torch.compile's graphs:
// what a call may do besides returning is not known here.
void remove_dead_reads(Graph& graph);

// Inputs that nobody uses are removed, so callers needn't gather them; not
// those of nested graphs, which are given as many operands as they have inputs.
void remove_unused_inputs(Graph& graph);

}  // namespace magneto::graph
