// SPDX-License-Identifier: BSD-3-Clause
// min() and max() of two tensors of one element give one of the two, whichever
// it is: a node of the graph that has the same number in it, as long as nothing
// tells that it is another object.
#pragma once

#include "graph/graph.h"
#include "values/model/context.h"

namespace magneto::values {

// What min() (Py_LT) or max() (Py_GT) gives of two tensors. Null where it must
// be known which of them it is: they are the caller's, a gradient goes through
// them, or they are views.
Outcome<V> choose_tensor(Context& ctx, int comparison, V first, V second);

// Whether such a node gives the value: then nobody knows what it is identical
// with, and who asks breaks the graph.
bool is_chosen(const Context& ctx, V value);
extern const BreakException kTensorChoice;

// Of a graph with its output: whether a program could tell. It writes to one of
// the three tensors, or gets two of them.
bool shows_choice(const graph::Graph& graph);

}  // namespace magneto::values
