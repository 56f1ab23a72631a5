// SPDX-License-Identifier: BSD-3-Clause
// The graphs that are being traced at a time: the root, and bodies that are
// traced into graphs nested in it, each in the one before.
//
//   Graph& body = tracer.begin();
//   NodeId x = tracer.lift(outer);      // the body's placeholder for it
//   body.output(body.call_function(sin, {x}, {}, ...));
//   tracer.end();
//   NodeId read = tracer.graph().install(body, "wrap_body");
//   tracer.graph().call_function(wrap, {read, <lifted_operands(body)>}, ...);
//
// A value of an outer graph that is used in an inner one is lifted: each graph
// in between gets a placeholder for it, once, and whoever calls the graph hands
// it on. Parameters and buffers are inputs of the root, lifted like the rest.
// All of it is undone by a rollback of the graphs' journal.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace magneto::graph {

class Tracer final : public UnseenJournaled {
 public:
  // `journal`: the root's.
  Tracer(Graph& root, Journal* journal) : journal_(journal), graphs_{&root} {}

  // The innermost graph: what calls are recorded in.
  Graph& graph() const { return *graphs_.back(); }
  Graph& root() const { return *graphs_.front(); }
  // 0: only the root is being traced.
  size_t depth() const { return graphs_.size() - 1; }

  // Begins a graph nested in the innermost one.
  Graph& begin();
  // Ends the innermost graph: its parent is traced on, which may install it.
  void end();

  // A node of the innermost graph, told from those of the others.
  NodeRef ref(NodeId node) const { return {graph().id(), node}; }
  // The node of the innermost graph that stands for a value of it or of one of
  // those around it.
  NodeId lift(NodeRef value) {
    return value.graph == graph().id() ? value.node : lift_to(depth(), value);
  }
  // What is known of a value, of whichever graph.
  const Node& node(NodeRef value) const { return of(value).node(value.node); }
  // The graph that computes a value.
  Graph& of(NodeRef value) const { return graph().graph(value.graph); }
  // Whether the value may be lifted: its graph is being traced.
  bool can_lift(NodeRef value) const;

  void undo(uint64_t what, uint64_t id) noexcept override;

 private:
  NodeId lift_to(size_t depth, NodeRef value);

  Journal* journal_;
  std::vector<Graph*> graphs_;  // from the root to the innermost
};

// The nodes of the parent that the graph's inputs were lifted from, in the
// order of inputs(): what the operator that runs the graph is to be given.
std::vector<NodeId> lifted_operands(const Graph& nested);

// For operators that give all of their bodies the same operands, such as
// torch.ops.higher_order.cond: gives each body an input for whatever any of
// them has lifted, and all of them one order: first inputs that weren't lifted,
// then those that all bodies use, then those of the first body, and so on. The
// operands. The bodies have one parent.
std::vector<NodeId> share_operands(std::span<Graph* const> bodies);

}  // namespace magneto::graph
