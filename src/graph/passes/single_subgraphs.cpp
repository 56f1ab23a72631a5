// SPDX-License-Identifier: BSD-3-Clause
// A region that is called once is no work that a backend could share: its calls
// take the place of the one that it is called by.
#include <unordered_map>
#include <vector>

#include "graph/edit.h"
#include "graph/passes/passes.h"
#include "graph/uses.h"
#include "python/find.h"

namespace magneto::graph {

namespace {

// torch.ops.higher_order.invoke_subgraph(read, name, *operands)
constexpr size_t kOperands = 2;

class Inlining {
 public:
  Inlining(Graph& graph, NodeId call)
      : graph_(graph),
        call_(call),
        read_(graph.node(call).args[0].node()),
        body_(graph.graph(graph.node(read_).nested)) {}

  void run() {
    const Arg output = body_.node(body_.output_node()).args[0];
    map_inputs();
    insert_before(graph_, call_, [&](Graph&) {
      for (NodeId id : body_.live()) copy(id);
      return 0;
    });
    std::vector<NodeId> items;
    for (NodeId id : graph_.live())
      visit_operands(graph_.node(id), [&](NodeId operand) {
        if (operand == call_) items.push_back(id);
      });
    for (NodeId item : items) {
      PyObject* index = graph_.node(item).args[1].constant();
      const Arg& given = output.items()[PyLong_AsSize_t(index)];
      replace_uses(graph_, item, translated(given));
    }
    items.push_back(call_);
    items.push_back(read_);
    erase(graph_, items);
  }

 private:
  void map_inputs() {
    const auto args = graph_.node(call_).args;
    for (size_t i = 0; i < body_.inputs().size(); ++i)
      copies_.emplace(body_.inputs()[i].node, args[kOperands + i]);
  }

  Arg translated(const Arg& arg) {
    if (arg.is_node()) return copies_.at(arg.node());
    if (arg.is_constant()) return arg;
    std::vector<Arg> items;
    for (const Arg& item : arg.items()) items.push_back(translated(item));
    switch (arg.tag()) {
      case ArgTag::Tuple:
        return graph_.tuple(items);
      case ArgTag::List:
        return graph_.list(items);
      case ArgTag::Dict:
        return graph_.dict(items);
      default:
        return graph_.slice(items[0], items[1], items[2]);
    }
  }

  void copy(NodeId id) {
    const Node& node = body_.node(id);
    if (!is_call(node.op)) return;
    std::vector<Arg> args;
    for (const Arg& arg : node.args) args.push_back(translated(arg));
    std::vector<Keyword> kwargs;
    for (const Keyword& keyword : node.kwargs)
      kwargs.push_back({keyword.name, translated(keyword.value)});
    const NodeId made =
        node.op == Op::CallFunction
            ? graph_.call_function(node.target, args, kwargs,
                                   node.example.share(), node.origin)
            : graph_.call_method(node.target, args, kwargs,
                                 node.example.share(), node.origin);
    if (node.has_effect) graph_.set_has_effect(made);
    copies_.insert_or_assign(id, made);
  }

  Graph& graph_;
  NodeId call_, read_;
  const Graph& body_;
  std::unordered_map<NodeId, Arg> copies_;
};

bool only_calls(const Graph& graph) {
  for (NodeId id : graph.live())
    if (graph.node(id).op == Op::GetAttr) return false;
  return true;
}

// The calls of regions that nothing else in the graph calls.
std::vector<NodeId> single_calls(const Graph& graph, PyObject* operation) {
  std::unordered_map<GraphId, int> reads;
  std::vector<NodeId> calls, single;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    if (node.nested.valid()) ++reads[node.nested];
    if (node.op == Op::CallFunction && node.target.get() == operation)
      calls.push_back(id);
  }
  for (NodeId call : calls) {
    const GraphId body = graph.node(graph.node(call).args[0].node()).nested;
    if (reads[body] == 1 && only_calls(graph.graph(body)))
      single.push_back(call);
  }
  return single;
}

}  // namespace

void inline_single_subgraphs(Graph& graph) {
  if (graph.nested().empty()) return;
  // Not there before the first region.
  PyObject* operation =
      find_object("torch._higher_order_ops.invoke_subgraph.invoke_subgraph");
  if (!operation) return;
  for (const auto& nested : graph.nested())
    if (nested->is_installed()) inline_single_subgraphs(*nested);
  for (NodeId call : single_calls(graph, operation))
    Inlining(graph, call).run();
}

}  // namespace magneto::graph
