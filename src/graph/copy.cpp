// SPDX-License-Identifier: BSD-3-Clause
// Copies of graphs and of parts of them, each with a tree of its own.
#include <algorithm>

#include "graph/edit.h"
#include "graph/names.h"
#include "graph/uses.h"

namespace magneto::graph {

class Copier {
 public:
  // `to`: the new root, empty.
  explicit Copier(const Graph& from, Graph& to)
      : from_(from), to_(to), copies_(from.node_count()) {
    const Graph::Tree& tree = *from.tree_;
    for (const Location& each : tree.locations) {
      to.tree_->locations.push_back(
          {each.code.share(), each.instruction, each.caller});
    }
    for (const Scope& each : tree.scopes) {
      to.tree_->scopes.push_back(
          {each.module, each.path, each.type.share(), each.parent});
    }
    to.tree_->numbers = tree.numbers;
    nested_.resize(tree.graphs.size());
  }

  // The copy has the ids of the original.
  void copy_all() {
    for (size_t i = 0; i < copies_.size(); ++i) copies_[i] = NodeId{i};
    copy_contents(from_, to_);
    if (from_.parent() == nullptr) return;
    to_.name_.clear();
    to_.added_at_ = 0;
    unlift_all(from_, to_);
  }

  bool has_copy(NodeId id) const { return copies_[id.index].valid(); }

  void copy_node(NodeId id) {
    const Node& node = from_.node(id);
    Node copy = copy_of(node, copies_);
    if (node.nested.valid()) {
      const Graph& nested = from_.graph(node.nested);
      copy.nested = copy_nested(nested, to_);
      unlift_all(nested, to_.graph(copy.nested));
    }
    copies_[id.index] = append(std::move(copy));
  }

  void copy_as_input(NodeId id) {
    const Node& node = from_.node(id);
    const Names& names = names_.of(from_);
    const NodeId made{to_.node_count()};
    Input input{.node = made, .source = kNoSource};
    input.kind = InputKind::Tensor;
    input.lifted = id;
    if (node.op == Op::Placeholder) {
      input = from_.inputs()[node.input];
      input.node = made;
    }
    unlift(input, node.op == Op::Placeholder ? names.parameters[node.input]
                                             : names.nodes[id.index]);
    Node copy{.op = Op::Placeholder,
              .input = static_cast<uint32_t>(to_.inputs_.size()),
              .example = node.example.share(),
              .origin = node.origin};
    to_.inputs_.push_back(std::move(input));
    copies_[id.index] = append(std::move(copy));
  }

  NodeId copy(NodeId id) const { return copies_[id.index]; }

 private:
  // The values that inputs were lifted from aren't in the copy, or have other
  // ids; the inputs keep the names that they have from them.
  void unlift_all(const Graph& original, Graph& copy) {
    copy.lifted_.clear();
    const Names& names = names_.of(original);
    for (size_t i = 0; i < copy.inputs_.size(); ++i) {
      unlift(copy.inputs_[i], names.parameters[i]);
    }
  }

  static void unlift(Input& input, const std::string& name) {
    if (!input.lifted.valid()) return;
    input.lifted = {};
    input.source_name = name;
  }

  // Its variable named it at once.
  NodeId append(Node node) {
    node.hinted_at = static_cast<uint32_t>(to_.node_count() + 1);
    if (is_call(node.op)) ++to_.call_count_;
    return to_.append(std::move(node));
  }

  // All but the nested graph that it reads. `copies`: of what it uses.
  Node copy_of(const Node& node, std::span<const NodeId> copies) {
    std::vector<Keyword> kwargs;
    for (const Keyword& keyword : node.kwargs) {
      to_.tree_->kept_alive.push_back(Ref::share(keyword.name));
      kwargs.push_back({keyword.name, copy_of(keyword.value, copies)});
    }
    return {.op = node.op,
            .erased = node.erased,
            .has_effect = node.has_effect,
            .input = node.input,
            .target = node.target.share(),
            .args = to_.tree_->arena.copy<Arg>(copy_of(node.args, copies)),
            .kwargs = to_.tree_->arena.copy<Keyword>(kwargs),
            .example = node.example.share(),
            .name_hint = node.name_hint.share(),
            .hinted_at = node.hinted_at,
            .attribute = node.attribute.share(),
            .origin = node.origin};
  }

  Arg copy_of(const Arg& arg, std::span<const NodeId> copies) {
    switch (arg.tag()) {
      case ArgTag::Constant:
        return arg.constant() == nullptr ? arg : to_.constant(arg.constant());
      case ArgTag::Node:
        return copies[arg.node().index];
      case ArgTag::Tuple:
      case ArgTag::List:
      case ArgTag::Dict:
      case ArgTag::Slice:
        return to_.container(arg.tag(), copy_of(arg.items(), copies));
    }
    return arg;
  }

  std::vector<Arg> copy_of(std::span<const Arg> args,
                           std::span<const NodeId> copies) {
    std::vector<Arg> result;
    for (const Arg& arg : args) result.push_back(copy_of(arg, copies));
    return result;
  }

  GraphId copy_nested(const Graph& from, Graph& parent) {
    GraphId& made = nested_[from.id().index];
    if (!made.valid()) {
      Graph& to = parent.add_nested();
      made = to.id();
      copy_contents(from, to);
    }
    return made;
  }

  // Of a whole graph, with the same ids.
  void copy_contents(const Graph& from, Graph& to) {
    for (const auto& nested : from.nested()) copy_nested(*nested, to);
    std::vector<NodeId> same(from.node_count());
    for (size_t i = 0; i < same.size(); ++i) same[i] = NodeId{i};
    for (const Node& node : from.nodes()) {
      Node copy = copy_of(node, same);
      if (node.nested.valid()) copy.nested = nested_[node.nested.index];
      to.nodes_.push_back(std::move(copy));
    }
    to.added_at_ = from.added_at_;
    to.name_ = from.name_;
    for (const auto& [name, value] : from.meta_)
      to.set_meta(name, value.share());
    to.order_ = from.order_;
    to.inputs_ = from.inputs_;
    to.lifted_ = from.lifted_;
    // Of one that was adopted; if it is copied alone, it is unlifted.
    if (const Graph* outer = from.outer(); outer != nullptr)
      if (const GraphId made = nested_[outer->id().index]; made.valid())
        to.outer_ = &to_.graph(made);
    to.call_count_ = from.call_count_;
    to.output_ = from.output_;
  }

  const Graph& from_;
  Graph& to_;
  TreeNames names_;              // of the originals
  std::vector<NodeId> copies_;   // by NodeId of the original
  std::vector<GraphId> nested_;  // by GraphId of the original
};

std::unique_ptr<Graph> clone(const Graph& graph) {
  MG_CHECK(graph.is_sealed(), "a graph is copied only after seal()");
  auto copy = std::make_unique<Graph>();
  Copier(graph, *copy).copy_all();
  check_sound(*copy, "copying");
  return copy;
}

Extracted extract(const Graph& graph, NodeId first, NodeId last) {
  MG_CHECK(graph.is_sealed(), "a graph is taken apart only after seal()");
  std::vector<NodeId> span;
  std::vector<bool> is_inside(graph.node_count());
  bool began = false, ended = false;
  for (size_t i = 0; i < graph.node_count() && !ended; ++i) {
    const NodeId id = graph.at(i);
    began |= id == first;
    ended = began && id == last;
    const Node& node = graph.node(id);
    if (!began || node.erased || node.op == Op::Placeholder) continue;
    MG_CHECK(node.op != Op::Output, "the output stays with its graph");
    span.push_back(id);
    is_inside[id.index] = true;
  }
  MG_CHECK(ended, "the last node of a span comes behind the first one");

  Extracted result{.graph = std::make_unique<Graph>()};
  Copier copier(graph, *result.graph);
  for (NodeId id : span) {
    visit_operands(graph.node(id), [&](NodeId used) {
      if (is_inside[used.index] || copier.has_copy(used)) return;
      if (graph.node(used).op == Op::GetAttr) {
        copier.copy_node(used);
        return;
      }
      copier.copy_as_input(used);
      result.inputs.push_back(used);
    });
    copier.copy_node(id);
  }

  std::vector<bool> is_used_behind(graph.node_count());
  for (NodeId id : graph.live()) {
    if (is_inside[id.index]) continue;
    visit_operands(graph.node(id),
                   [&](NodeId used) { is_used_behind[used.index] = true; });
  }
  std::vector<Arg> outputs;
  for (NodeId id : span) {
    if (!is_used_behind[id.index]) continue;
    result.outputs.push_back(id);
    outputs.push_back(copier.copy(id));
  }
  result.graph->output(result.graph->tuple(outputs));
  check_sound(*result.graph, "taking a graph out of another");
  return result;
}

}  // namespace magneto::graph
