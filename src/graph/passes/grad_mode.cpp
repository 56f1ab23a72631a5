// SPDX-License-Identifier: BSD-3-Clause
// Only neighbours are looked at: `with torch.no_grad(): pass` leaves such a
// pair behind, and so does a body that was moved into constants.
#include "graph/edit.h"
#include "graph/passes/passes.h"
#include "graph/state_functions.h"

namespace magneto::graph {

namespace {

// The mode that a node sets, or null when it sets none.
PyObject* mode_set_by(const Node& node, PyObject* set_grad_enabled) {
  if (node.op != Op::CallFunction || node.target.get() != set_grad_enabled ||
      node.args.size() != 1 || !node.kwargs.empty() ||
      !node.args[0].is_constant() || !PyBool_Check(node.args[0].constant())) {
    return nullptr;
  }
  return node.args[0].constant();
}

void remove_cancelling(Graph& graph, std::optional<bool> mode,
                       PyObject* set_grad_enabled) {
  std::vector<NodeId> cancelled;
  NodeId previous;  // changes the mode, and is the last node seen
  std::optional<bool> mode_before = mode;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    if (node.op == Op::Placeholder) continue;
    PyObject* value = mode_set_by(node, set_grad_enabled);
    if (value == nullptr) {
      previous = NodeId{};
      continue;
    }
    const bool new_mode = value == Py_True;
    if (previous.valid() && new_mode == mode_before) {
      cancelled.insert(cancelled.end(), {previous, id});
      previous = NodeId{};
      mode = new_mode;
      continue;
    }
    previous = new_mode != mode ? id : NodeId{};
    mode_before = mode;
    mode = new_mode;
  }
  erase(graph, cancelled);
  for (const auto& nested : graph.nested()) {
    if (nested->is_installed())
      remove_cancelling(*nested, std::nullopt, set_grad_enabled);
  }
}

}  // namespace

bool only_sets_grad_mode(const Graph& graph) {
  const Ref set_grad_enabled = find_state_functions().set_grad_enabled;
  if (!set_grad_enabled) return false;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    if (is_call(node.op) && !mode_set_by(node, set_grad_enabled)) return false;
  }
  return true;
}

void remove_cancelling_grad_modes(Graph& graph,
                                  std::optional<bool> grad_enabled) {
  const Ref set_grad_enabled = find_state_functions().set_grad_enabled;
  if (!set_grad_enabled) return;
  remove_cancelling(graph, grad_enabled, set_grad_enabled);
}

}  // namespace magneto::graph
