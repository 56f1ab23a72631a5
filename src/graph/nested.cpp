// SPDX-License-Identifier: BSD-3-Clause
// How graphs are nested in a graph, and what they take from outside. Undone by
// Graph::undo().
#include <algorithm>
#include <utility>

#include "graph/graph.h"
#include "graph/undo.h"

namespace magneto::graph {

Graph& Graph::add_nested() {
  nested_.push_back(std::unique_ptr<Graph>(new Graph(*this)));
  if (journal_ != nullptr) journal_->record(this, kUndoNested);
  return *nested_.back();
}

void Graph::adopt(Graph& nested) {
  Graph* from = nested.parent_;
  MG_CHECK(
      from != nullptr && from->parent_ == this && nested.outer_ == from,
      "the parent of an adopted graph is nested in the one that adopts it");
  MG_CHECK(from->nested_.back().get() == &nested && !nested.is_installed(),
           "a graph is adopted before it is installed, and the last one first");
  MG_CHECK(from->output_.valid() && nested.output_.valid(),
           "both graphs are traced before they stand side by side");
  nested_.push_back(std::move(from->nested_.back()));
  from->nested_.pop_back();
  nested.parent_ = this;
  if (journal_ != nullptr) journal_->record(&nested, kUndoAdopted);
}

NodeId Graph::install(Graph& nested, std::string_view prefix, Origin origin) {
  MG_CHECK(nested.parent_ == this, "a graph is installed in its parent");
  MG_CHECK(!nested.is_installed(), "a graph is installed once");
  MG_CHECK(nested.output_.valid(), "a body is traced before it is installed");
  std::string name(prefix);
  const uint32_t number = tree_->numbers[name]++;
  nested.name_ = name + '_' + std::to_string(number);
  if (journal_ != nullptr) journal_->record(&nested, kUndoName);
  return get_nested(nested, origin);
}

NodeId Graph::get_nested(const Graph& nested, Origin origin) {
  MG_CHECK(nested.parent_ == this && nested.is_installed(),
           "only a graph that is installed in this one can be read");
  Ref name = Ref::steal(PyUnicode_FromStringAndSize(
      nested.name_.data(), static_cast<Py_ssize_t>(nested.name_.size())));
  MG_CHECK(name, "out of memory");
  return append({.op = Op::GetAttr,
                 .target = std::move(name),
                 .nested = nested.id_,
                 .origin = origin});
}

NodeId Graph::lift(NodeId outer) {
  MG_CHECK(parent_ != nullptr, "a root has no outer values");
  const auto [entry, is_new] = lifted_.try_emplace(outer, nodes_.size());
  if (!is_new) return entry->second;
  const Node& value = parent_->node(outer);
  MG_CHECK(!value.nested.valid(), "graphs are no operands of other graphs");
  Input input{.node = entry->second, .source = kNoSource, .lifted = outer};
  input.kind = InputKind::Tensor;
  if (value.op == Op::Placeholder) {
    const Input& from = parent_->inputs_[value.input];
    input.kind = from.kind;
    input.number = from.number;
  }
  inputs_.push_back(std::move(input));
  return append({.op = Op::Placeholder,
                 .input = static_cast<uint32_t>(inputs_.size() - 1),
                 .example = value.example.share(),
                 .origin = value.origin});
}

void Graph::set_input_order(std::span<const NodeId> placeholders) {
  std::vector<NodeId> former;
  for (const Input& input : inputs_) former.push_back(input.node);
  MG_CHECK(std::ranges::is_permutation(placeholders, former),
           "an order has each input once");
  arrange_inputs(placeholders);
  if (journal_ == nullptr) return;
  replaced_orders_.push_back(std::move(former));
  journal_->record(this, kUndoOrder);
}

void Graph::arrange_inputs(std::span<const NodeId> placeholders) {
  std::vector<Input> arranged;
  arranged.reserve(inputs_.size());
  for (NodeId id : placeholders) {
    Node& node = nodes_[id.index];
    arranged.push_back(std::move(inputs_[node.input]));
    node.input = static_cast<uint32_t>(arranged.size() - 1);
  }
  inputs_ = std::move(arranged);
}

}  // namespace magneto::graph
