// SPDX-License-Identifier: BSD-3-Clause
// Only neighbours are looked at: `with torch.no_grad(): pass` leaves such a
// pair behind, and so does a body that was moved into constants.
#include "graph/passes.h"
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

}  // namespace

bool only_sets_grad_mode(const Graph& graph) {
  const Ref set_grad_enabled = find_state_functions().set_grad_enabled;
  if (!set_grad_enabled) return false;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId{i});
    if (!node.erased && is_call(node.op) &&
        !mode_set_by(node, set_grad_enabled))
      return false;
  }
  return true;
}

void remove_cancelling_grad_modes(Graph& graph, bool grad_enabled) {
  const Ref set_grad_enabled = find_state_functions().set_grad_enabled;
  if (!set_grad_enabled) return;
  bool mode = grad_enabled;
  NodeId previous;  // changes the mode, and is the last node seen
  bool mode_before = mode;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId id{i};
    const Node& node = graph.node(id);
    if (node.erased || node.op == Op::Placeholder) continue;
    PyObject* value = mode_set_by(node, set_grad_enabled);
    if (value == nullptr) {
      previous = NodeId{};
      continue;
    }
    const bool new_mode = value == Py_True;
    if (previous.valid() && new_mode == mode_before) {
      graph.erase(previous);
      graph.erase(id);
      previous = NodeId{};
      mode = new_mode;
      continue;
    }
    previous = new_mode != mode ? id : NodeId{};
    mode_before = mode;
    mode = new_mode;
  }
}

}  // namespace magneto::graph
