// SPDX-License-Identifier: BSD-3-Clause
#include "graph/edit.h"

#include <algorithm>

#include "graph/uses.h"

namespace magneto::graph {

namespace {

class Replacer {
 public:
  Replacer(Graph& graph, NodeId node, const Arg& by)
      : graph_(graph), node_(node), by_(by) {}

  void visit(NodeId id) {
    const size_t before = count_;
    const Node& node = graph_.node(id);
    std::vector<Arg> args = replaced(node.args);
    std::vector<Keyword> kwargs(node.kwargs.begin(), node.kwargs.end());
    for (Keyword& keyword : kwargs) keyword.value = replaced(keyword.value);
    if (count_ != before) graph_.set_operands(id, args, kwargs);
  }
  size_t count() const { return count_; }

 private:
  Arg replaced(const Arg& arg) {
    if (arg.is_node()) {
      if (arg.node() != node_) return arg;
      ++count_;
      return by_;
    }
    const size_t before = count_;
    const std::vector<Arg> items = replaced(arg.items());
    return count_ == before ? arg : graph_.container(arg.tag(), items);
  }

  std::vector<Arg> replaced(std::span<const Arg> items) {
    std::vector<Arg> result;
    result.reserve(items.size());
    for (const Arg& item : items) result.push_back(replaced(item));
    return result;
  }

  Graph& graph_;
  const NodeId node_;
  const Arg by_;
  size_t count_ = 0;
};

}  // namespace

size_t replace_uses(Graph& graph, NodeId node, const Arg& by) {
  Replacer replacer(graph, node, by);
  for (NodeId id : graph.live()) replacer.visit(id);
  check_sound(graph, "replacing a node's uses");
  return replacer.count();
}

void erase(Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty()) return;
  bool erases_inputs = false;
  for (NodeId id : nodes) {
    erases_inputs |= graph.node(id).op == Op::Placeholder;
    graph.erase(id);
  }
  if (erases_inputs) graph.drop_erased_inputs();
  check_sound(graph, "erasing nodes");
}

}  // namespace magneto::graph
