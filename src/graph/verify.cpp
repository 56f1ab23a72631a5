// SPDX-License-Identifier: BSD-3-Clause
#include "graph/verify.h"

#include <fmt/format.h>

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

std::string check_nested(const Graph& graph, const Node& node, size_t index) {
  if (!node.nested.valid()) return "";
  if (node.nested.index >= graph.graph_count()) {
    return fmt::format("node {} reads graph {}, which doesn't exist", index,
                       node.nested.index);
  }
  const Graph& read = graph.graph(node.nested);
  if (read.parent() != &graph) {
    return fmt::format("node {} reads graph {}, which isn't nested in this one",
                       index, node.nested.index);
  }
  if (PyUnicode_CompareWithASCIIString(node.target, read.name().c_str()) != 0) {
    return fmt::format("node {} reads {} by another name", index, read.name());
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
std::string check_operands(const Graph& graph, const Node& node, size_t index,
                           const std::vector<uint32_t>& positions) {
  std::string problem;
  visit_operands(node, [&](NodeId id) {
    if (!problem.empty()) return;
    if (id.index >= graph.node_count()) {
      problem = fmt::format("node {} uses node {}, which doesn't exist", index,
                            id.index);
    } else if (graph.node(id).erased) {
      problem = fmt::format("node {} uses node {}, which was erased", index,
                            id.index);
    } else if (positions[id.index] >= positions[index] &&
               graph.node(id).op != Op::Placeholder) {
      problem = fmt::format("node {} uses node {}, which comes later", index,
                            id.index);
    }
  });
  return problem;
}

// By NodeId: where in the order of nodes it stands.
std::vector<uint32_t> positions_of(const Graph& graph) {
  std::vector<uint32_t> positions(graph.node_count());
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    positions[graph.at(i).index] = i;
  }
  return positions;
}

std::string verify_one(const Graph& graph) {
  if (!graph.output_node().valid()) return "there is no output";
  if (std::string problem = check_inputs(graph); !problem.empty()) {
    return problem;
  }
  const std::vector<uint32_t> positions = positions_of(graph);
  size_t calls = 0;
  size_t placeholders = 0;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    calls += is_call(node.op) ? 1 : 0;
    placeholders += node.op == Op::Placeholder ? 1 : 0;
    std::string problem = check_target(node, id.index);
    if (problem.empty()) problem = check_nested(graph, node, id.index);
    if (problem.empty())
      problem = check_operands(graph, node, id.index, positions);
    if (!problem.empty()) return problem;
    if (positions[id.index] > positions[graph.output_node().index] &&
        node.op != Op::Placeholder) {
      return "the output isn't the last node";
    }
  }
  if (calls != graph.call_count()) return "calls were counted wrongly";
  if (placeholders != graph.inputs().size()) {
    return "a placeholder is no input";
  }
  return "";
}

}  // namespace

std::string verify(const Graph& graph) {
  if (std::string problem = verify_one(graph); !problem.empty()) {
    return problem;
  }
  for (const auto& nested : graph.nested()) {
    if (!nested->is_installed()) continue;
    if (std::string problem = verify(*nested); !problem.empty()) {
      return nested->name() + ": " + problem;
    }
  }
  return "";
}

}  // namespace magneto::graph
