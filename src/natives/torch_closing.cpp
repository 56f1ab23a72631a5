// SPDX-License-Identifier: BSD-3-Clause
#include "natives/torch_closing.h"

#include <algorithm>

#include "natives/torch_rows.h"
#include "tensor/ambient.h"

namespace magneto::natives {

using values::Construction;

namespace {

// Nodes that enter a context which no node leaves, outermost first.
std::vector<graph::NodeId> still_open(const graph::Graph& graph,
                                      const PyObject* enter,
                                      const PyObject* exit) {
  std::vector<graph::NodeId> open;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const graph::NodeId id{i};
    const graph::Node& node = graph.node(id);
    if (node.op != graph::Op::CallFunction) continue;
    if (node.target.get() == enter) open.push_back(id);
    if (node.target.get() == exit) std::erase(open, node.args[0].node());
  }
  return open;
}

// The torch.inference_mode() that the node enters.
V entered_by(Context& ctx, graph::NodeId node) {
  auto* type = reinterpret_cast<PyTypeObject*>(
      object_at<"torch.autograd.grad_mode.inference_mode">());
  for (size_t i = 0; i < ctx.heap.size(); ++i) {
    const values::HeapObject& object = ctx.heap[values::HeapId{i}];
    if (object.node == node && object.owner && object.owner->type == type)
      return object.owner;
  }
  return nullptr;
}

// Leaves the inference mode that the graph is in, and gives the call that
// enters it again: torch's C++ object for it, which goes where the context
// manager will look for it. Null if there is another state around or in it.
V close_inference_mode(Context& ctx, const StateAtStart& start,
                       std::span<const graph::NodeId> open) {
  if (open.size() != 1) return nullptr;
  V manager = entered_by(ctx, open[0]);
  PyObject* mode = ctx.graph.node(open[0]).args[0].constant();
  const bool is_plain =
      manager && tensor::inference_mode_state() == (mode == Py_True) &&
      tensor::grad_mode() == (mode != Py_True) &&
      static_cast<uint64_t>(ctx.heap[manager->heap].number) == start.autograd;
  if (!is_plain) return nullptr;
  V inside = ctx.object(
      reinterpret_cast<PyTypeObject*>(object_at<"torch._C._InferenceMode">()));
  ctx.heap.initial(inside->heap).slots = {ctx.constant_share(mode)};
  if (!values::set_attribute(ctx, manager, name<"_inference_mode_context">(),
                             inside))
    return nullptr;
  ctx.graph.call_function(
      object_at<"torch.autograd.grad_mode._exit_inference_mode">(), {open[0]},
      {}, {}, ctx.inliner->origin());
  return inside;
}

}  // namespace

StateAtStart StateAtStart::now() {
  return {tensor::grad_mode(), tensor::inference_mode_state(),
          tensor::autograd_state()};
}

std::optional<std::vector<Construction>> close_states(
    Context& ctx, const StateAtStart& start) {
  const TorchObjects& torch = torch_objects();
  const std::vector<graph::NodeId> open =
      still_open(ctx.graph, torch.enter_autocast, torch.exit_autocast);
  std::vector<Construction> again;
  for (graph::NodeId id : open) {
    Construction call{ctx.constant_share(torch.enter_autocast), {}};
    for (const graph::Arg& arg : ctx.graph.node(id).args)
      call.positional.push_back(ctx.constant_share(arg.constant()));
    again.push_back(std::move(call));
  }
  for (PyObject* device : ctx.default_devices.open())
    again.push_back({ctx.constant_share(object_at<"torch.device.__enter__">()),
                     {ctx.constant_share(device)}});
  const graph::Origin origin = ctx.inliner->origin();
  for (size_t i = open.size(); i-- > 0;)
    ctx.graph.call_function(torch.exit_autocast, {open[i]}, {}, {}, origin);

  const std::vector<graph::NodeId> inference = still_open(
      ctx.graph, object_at<"torch.autograd.grad_mode._enter_inference_mode">(),
      object_at<"torch.autograd.grad_mode._exit_inference_mode">());
  if (!inference.empty()) {
    V inside = close_inference_mode(ctx, start, inference);
    if (!inside) return std::nullopt;
    // To make it is to enter it; whatever takes it makes it.
    again.push_back({ctx.constant_share(object_at<"builtins.id">()), {inside}});
    return again;
  }
  const bool grad_mode = tensor::grad_mode();
  if (grad_mode != start.grad_mode) {
    V before = ctx.boolean(start.grad_mode);
    ctx.graph.call_function(torch.set_grad_enabled,
                            {ctx.graph.constant(before->object)}, {}, {},
                            origin);
    again.push_back(
        {ctx.constant_share(torch.set_grad_enabled), {ctx.boolean(grad_mode)}});
  }
  return again;
}

}  // namespace magneto::natives
