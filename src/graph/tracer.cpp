// SPDX-License-Identifier: BSD-3-Clause
#include "graph/tracer.h"

#include <algorithm>

namespace magneto::graph {

namespace {

enum Undo : uint64_t { kUndoBegin, kUndoEnd };

}  // namespace

Graph& Tracer::begin() {
  graphs_.push_back(&graph().add_nested());
  if (journal_ != nullptr) journal_->record(this, kUndoBegin);
  return graph();
}

void Tracer::end() {
  MG_CHECK(depth() > 0, "the root is traced to the end");
  const GraphId id = graph().id();
  graphs_.pop_back();
  if (journal_ != nullptr) journal_->record(this, kUndoEnd, id.index);
}

NodeId Tracer::lift_to(size_t depth, NodeRef value) {
  Graph& graph = *graphs_[depth];
  if (value.graph == graph.id()) return value.node;
  MG_CHECK(depth > 0, "a value is used outside of the graph that computes it");
  return graph.lift(lift_to(depth - 1, value));
}

bool Tracer::can_lift(NodeRef value) const {
  return std::ranges::any_of(
      graphs_, [&](const Graph* each) { return each->id() == value.graph; });
}

void Tracer::undo(uint64_t what, uint64_t id) noexcept {
  switch (what) {
    case kUndoBegin:
      graphs_.pop_back();
      break;
    case kUndoEnd:
      graphs_.push_back(&root().graph(GraphId(id)));
      break;
  }
}

std::vector<NodeId> lifted_operands(const Graph& nested) {
  std::vector<NodeId> operands;
  for (const Input& input : nested.inputs()) {
    if (input.lifted.valid()) operands.push_back(input.lifted);
  }
  return operands;
}

std::vector<NodeId> share_operands(std::span<Graph* const> bodies) {
  std::vector<std::vector<NodeId>> lifted;
  for (const Graph* body : bodies) lifted.push_back(lifted_operands(*body));
  std::vector<NodeId> shared, others;
  for (const auto& list : lifted) {
    for (NodeId outer : list) {
      const bool is_in_all = std::ranges::all_of(lifted, [&](const auto& each) {
        return std::ranges::find(each, outer) != each.end();
      });
      std::vector<NodeId>& kind = is_in_all ? shared : others;
      if (std::ranges::find(kind, outer) == kind.end()) kind.push_back(outer);
    }
  }
  shared.insert(shared.end(), others.begin(), others.end());
  for (Graph* body : bodies) {
    MG_CHECK(body->parent() == bodies.front()->parent(),
             "bodies of one operator are nested in one graph");
    std::vector<NodeId> order;
    for (const Input& input : body->inputs()) {
      if (!input.lifted.valid()) order.push_back(input.node);
    }
    for (NodeId outer : shared) order.push_back(body->lift(outer));
    body->set_input_order(order);
  }
  return shared;
}

}  // namespace magneto::graph
