// SPDX-License-Identifier: BSD-3-Clause
#include "natives/torch_closing.h"

#include <algorithm>
#include <iterator>
#include <ranges>

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

std::vector<graph::NodeId> open_autocasts(const graph::Graph& graph) {
  const TorchObjects& torch = torch_objects();
  return still_open(graph, torch.enter_autocast, torch.exit_autocast);
}

// The object that stands for what the node enters; null if nobody has it.
V owner_of(Context& ctx, graph::NodeId node) {
  for (size_t i = 0; i < ctx.heap.size(); ++i) {
    const values::HeapObject& object = ctx.heap[values::HeapId{i}];
    if (object.node == node && object.owner &&
        object.owner->kind == values::Kind::Object)
      return object.owner;
  }
  return nullptr;
}

// The torch.inference_mode() that the node enters.
V entered_by(Context& ctx, graph::NodeId node) {
  V owner = owner_of(ctx, node);
  auto* type = reinterpret_cast<PyTypeObject*>(
      object_at<"torch.autograd.grad_mode.inference_mode">());
  return owner && owner->type == type ? owner : nullptr;
}

// The torch.autocast that was left where the node enters the state outside of
// it, and the next one clears the cache; null if the node enters one.
V left_by(Context& ctx, graph::NodeId node) {
  const graph::NodeId next{node.index + 1};
  return next.index < ctx.graph.node_count() &&
                 ctx.graph.node(next).target.get() ==
                     object_at<"torch.clear_autocast_cache">()
             ? owner_of(ctx, next)
             : nullptr;
}

Construction leave(Context& ctx, V autocast) {
  return {ctx.constant_share(
              object_at<"torch.amp.autocast_mode.autocast.__exit__">()),
          {autocast, ctx.none(), ctx.none(), ctx.none()}};
}

// One torch.inference_mode() that the graph is in.
struct OpenMode {
  graph::NodeId node;
  V manager;
  PyObject* mode;    // what it is entered with, True or False
  uint64_t outside;  // the autograd state that it was entered in
};

std::vector<graph::NodeId> open_inference_nodes(const graph::Graph& graph) {
  return still_open(
      graph, object_at<"torch.autograd.grad_mode._enter_inference_mode">(),
      object_at<"torch.autograd.grad_mode._exit_inference_mode">());
}

// Outermost first; nothing if one of them wasn't made by torch.inference_mode.
std::optional<std::vector<OpenMode>> open_inference_modes(Context& ctx) {
  std::vector<OpenMode> modes;
  for (graph::NodeId node : open_inference_nodes(ctx.graph)) {
    V manager = entered_by(ctx, node);
    if (!manager) return std::nullopt;
    modes.push_back({node, manager, ctx.graph.node(node).args[0].constant(),
                     static_cast<uint64_t>(ctx.heap[manager->heap].number)});
  }
  return modes;
}

// What brings the thread from the state that the graph was entered in to the
// one that its end is in, and how the graph leaves what it has entered.
class Closing {
 public:
  Closing(Context& ctx, const StateAtStart& start)
      : ctx_(ctx), start_(start), reached_(start.autograd) {}

  // Nothing if the thread has got into its state in another way than by what
  // is still open.
  std::optional<std::vector<Construction>> run() {
    const auto modes = open_inference_modes(ctx_);
    if (!modes) return std::nullopt;
    const std::vector<graph::NodeId> autocasts = open_autocasts(ctx_.graph);
    // In the order in which they were entered: an inference mode that ends puts
    // back what autocast was when it began.
    auto mode = modes->begin();
    auto autocast = autocasts.begin();
    while (mode != modes->end() || autocast != autocasts.end()) {
      if (autocast == autocasts.end() ||
          (mode != modes->end() && mode->node.index < autocast->index)) {
        if (!enter(*mode)) return std::nullopt;
        ++mode;
      } else {
        enter_autocast(*autocast++);
      }
    }
    if (!expect(tensor::autograd_state())) return std::nullopt;
    for (PyObject* device : ctx_.default_devices.open())
      again_.push_back(
          {ctx_.constant_share(object_at<"torch.device.__enter__">()),
           {ctx_.constant_share(device)}});
    leave_all(modes->empty() ? tensor::autograd_state()
                             : modes->front().outside);
    return std::move(again_);
  }

 private:
  // Switches the grad mode to what the state has; whether that gives the state.
  bool expect(uint64_t state) {
    const bool enabled = tensor::has_grad_mode(state);
    if (enabled != tensor::has_grad_mode(reached_))
      again_.push_back({ctx_.constant_share(torch_objects().set_grad_enabled),
                        {ctx_.boolean(enabled)}});
    return tensor::with_grad_mode(reached_, enabled) == state;
  }

  bool enter(const OpenMode& open) {
    if (!expect(open.outside)) return false;
    // To make torch's C++ object is to enter it.
    V entered = ctx_.object(reinterpret_cast<PyTypeObject*>(
        object_at<"torch._C._InferenceMode">()));
    ctx_.heap.initial(entered->heap).slots = {ctx_.constant_share(open.mode)};
    again_.push_back(
        {ctx_.constant_share(object_at<"builtins.setattr">()),
         {open.manager, ctx_.constant_share(name<"_inference_mode_context">()),
          entered}});
    reached_ = tensor::inference_state(open.mode == Py_True);
    exits_.push_back(
        {object_at<"torch.autograd.grad_mode._exit_inference_mode">(),
         open.node});
    return true;
  }

  void enter_autocast(graph::NodeId node) {
    const TorchObjects& torch = torch_objects();
    exits_.push_back({torch.exit_autocast, node});
    if (V left = left_by(ctx_, node)) {
      again_.push_back(leave(ctx_, left));
      return;
    }
    Construction call{ctx_.constant_share(torch.enter_autocast), {}};
    for (const graph::Arg& arg : ctx_.graph.node(node).args)
      call.positional.push_back(ctx_.constant_share(arg.constant()));
    again_.push_back(std::move(call));
  }

  // Records that the graph leaves what it is in, after which the thread is in
  // `left` but for the grad mode.
  void leave_all(uint64_t left) {
    const graph::Origin origin = ctx_.inliner->origin();
    for (const Exit& exit : exits_ | std::views::reverse)
      ctx_.graph.call_function(exit.function, {exit.entered}, {}, {}, origin);
    if (tensor::has_grad_mode(left) != start_.grad_mode())
      ctx_.graph.call_function(
          torch_objects().set_grad_enabled,
          {ctx_.graph.constant(ctx_.boolean(start_.grad_mode())->object)}, {},
          {}, origin);
  }

  struct Exit {
    PyObject* function;
    graph::NodeId entered;
  };

  Context& ctx_;
  const StateAtStart& start_;
  uint64_t reached_;
  std::vector<Construction> again_;
  std::vector<Exit> exits_;
};

}  // namespace

bool StateAtStart::grad_mode() const { return tensor::has_grad_mode(autograd); }

StateAtStart StateAtStart::now() { return {tensor::autograd_state()}; }

std::vector<V> entered_inference_modes(Context& ctx) {
  std::vector<V> managers;
  for (graph::NodeId node : open_inference_nodes(ctx.graph))
    managers.push_back(entered_by(ctx, node));
  return managers;
}

graph::NodeId innermost_entered(Context& ctx) {
  std::vector<graph::NodeId> open = open_autocasts(ctx.graph);
  std::erase_if(open, [&](graph::NodeId id) { return left_by(ctx, id); });
  std::ranges::copy(open_inference_nodes(ctx.graph), std::back_inserter(open));
  const auto last = std::ranges::max_element(open, {}, &graph::NodeId::index);
  return last == open.end() ? graph::NodeId{} : *last;
}

bool is_entered(Context& ctx, V manager) {
  const auto among = [&](const std::vector<graph::NodeId>& open) {
    return std::ranges::find(open, ctx.heap[manager->heap].node) != open.end();
  };
  return among(open_autocasts(ctx.graph)) ||
         among(open_inference_nodes(ctx.graph));
}

void enter_outside_of(Context& ctx, V autocast,
                      std::span<const graph::Arg> outside) {
  const graph::Origin origin = ctx.inliner->origin();
  ctx.graph.call_function(torch_objects().enter_autocast, outside, {}, {},
                          origin);
  ctx.heap.set_node(
      autocast->heap,
      ctx.graph.call_function(object_at<"torch.clear_autocast_cache">(), {}, {},
                              {}, origin));
}

std::optional<std::vector<Construction>> close_states(
    Context& ctx, const StateAtStart& start) {
  return Closing(ctx, start).run();
}

std::optional<std::vector<Construction>> close_left_autocasts(
    Context& ctx, const StateAtStart& start) {
  const std::vector<graph::NodeId> open = open_autocasts(ctx.graph);
  std::vector<Construction> calls;
  for (graph::NodeId node : open)
    if (V left = left_by(ctx, node)) calls.push_back(leave(ctx, left));
  if (calls.empty()) return calls;
  // What was entered since stands in the way.
  if (calls.size() != open.size()) return close_states(ctx, start);
  for (graph::NodeId node : open | std::views::reverse)
    ctx.graph.call_function(torch_objects().exit_autocast, {node}, {}, {},
                            ctx.inliner->origin());
  return calls;
}

}  // namespace magneto::natives
