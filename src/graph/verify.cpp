// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "graph/passes.h"
#include "graph/uses.h"

namespace magneto::graph {

namespace {

std::string check_inputs(const Graph& graph) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const NodeId id = graph.inputs()[i].node;
    if (id.index >= graph.node_count()) {
      return fmt::format("input {} has no node", i);
    }
    const Node& node = graph.node(id);
    if (node.op != Op::Placeholder || node.erased) {
      return fmt::format("input {} is node {}, which is no placeholder", i,
                         id.index);
    }
    if (node.input != i) {
      return fmt::format("node {} says that it is input {}, but it is {}",
                         id.index, node.input, i);
    }
  }
  return "";
}

std::string check_target(const Node& node, size_t index) {
  switch (node.op) {
    case Op::CallFunction:
      if (!node.target || PyCallable_Check(node.target) == 0) {
        return fmt::format("node {} calls what can't be called", index);
      }
      return "";
    case Op::GetAttr:
    case Op::CallMethod:
      if (!node.target || !PyUnicode_Check(node.target.get())) {
        return fmt::format("node {} needs a name as its target", index);
      }
      if (node.op == Op::CallMethod && node.args.empty()) {
        return fmt::format("node {} calls a method of nothing", index);
      }
      return "";
    case Op::Placeholder:
    case Op::Output:
      return "";
  }
  return "";
}

// Inputs may be found late, but are there before every call.
std::string check_operands(const Graph& graph, const Node& node, size_t index) {
  std::string problem;
  visit_operands(node, [&](NodeId id) {
    if (!problem.empty()) return;
    if (id.index >= graph.node_count()) {
      problem = fmt::format("node {} uses node {}, which doesn't exist", index,
                            id.index);
    } else if (graph.node(id).erased) {
      problem = fmt::format("node {} uses node {}, which was erased", index,
                            id.index);
    } else if (id.index >= index && graph.node(id).op != Op::Placeholder) {
      problem = fmt::format("node {} uses node {}, which comes later", index,
                            id.index);
    }
  });
  return problem;
}

}  // namespace

std::string verify(const Graph& graph) {
  if (!graph.output_node().valid()) return "there is no output";
  if (graph.output_node().index + 1 != graph.node_count()) {
    return "the output isn't the last node";
  }
  if (std::string problem = check_inputs(graph); !problem.empty()) {
    return problem;
  }
  size_t calls = 0;
  size_t placeholders = 0;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.erased) continue;
    calls += is_call(node.op) ? 1 : 0;
    placeholders += node.op == Op::Placeholder ? 1 : 0;
    std::string problem = check_target(node, i);
    if (problem.empty()) problem = check_operands(graph, node, i);
    if (!problem.empty()) return problem;
  }
  if (calls != graph.call_count()) return "calls were counted wrongly";
  if (placeholders != graph.inputs().size()) {
    return "a placeholder is no input";
  }
  return "";
}

}  // namespace magneto::graph
