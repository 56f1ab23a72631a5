// SPDX-License-Identifier: BSD-3-Clause
// Clean-up of a finished graph, one pass a file. A pass edits a sealed graph in
// place and never changes what running it does, nor the order of calls. All
// passes leave a graph that verify() accepts.
#pragma once

#include <string>

#include "graph/graph.h"

namespace magneto::graph {

// All of the passes below, in the order that they are listed in.
// `grad_enabled`: grad mode when the graph starts to run.
void clean_up(Graph& graph, bool grad_enabled);

// A change of grad mode that the next call changes back is removed, both of
// them.
void remove_cancelling_grad_modes(Graph& graph, bool grad_enabled);

// Whether the graph makes no other calls than such changes: no work for a
// backend.
bool only_sets_grad_mode(const Graph& graph);

// Reads whose result nobody uses (getitem, get_attr, sizes; the table is in the
// .cpp) are removed. Other unused calls stay, as in torch.compile's graphs:
// what a call may do besides returning is not known here.
void remove_dead_reads(Graph& graph);

// Inputs that nobody uses are removed, so callers needn't gather them.
void remove_unused_inputs(Graph& graph);

// The first thing that is wrong with the graph, or "" when it is sound: each
// operand is computed before it is used, inputs and placeholders agree, targets
// have the right types, there is one output and it is the last node.
std::string verify(const Graph& graph);

}  // namespace magneto::graph
