// SPDX-License-Identifier: BSD-3-Clause
#include "natives/torch/closing.h"

#include <algorithm>
#include <utility>

#include "natives/torch/rows.h"
#include "tensor/ambient.h"
#include "tensor/attention_kernels.h"

namespace magneto::natives {

using values::Construction;

namespace {

using values::EnteredContext;
using Kind = EnteredContext::Kind;

V manager_of(Context& ctx, const EnteredContext& context) {
  return ctx.heap[context.manager].owner;
}

bool is_inference_mode(const EnteredContext& context) {
  return context.kind == Kind::InferenceMode;
}

bool is_left_autocast(const EnteredContext& context) {
  return context.kind == Kind::OutsideOfAutocast;
}

// Null if it isn't a torch.inference_mode itself.
V inference_mode_of(Context& ctx, const EnteredContext& context) {
  V manager = manager_of(ctx, context);
  auto* type = reinterpret_cast<PyTypeObject*>(
      object_at<"torch.autograd.grad_mode.inference_mode">());
  return manager->type == type ? manager : nullptr;
}

PyObject* function_that_leaves(Kind kind) {
  return kind == Kind::InferenceMode
             ? object_at<"torch.autograd.grad_mode._exit_inference_mode">()
             : torch_objects().exit_autocast;
}

PyObject* function_that_enters(Kind kind) {
  return kind == Kind::InferenceMode
             ? object_at<"torch.autograd.grad_mode._enter_inference_mode">()
             : torch_objects().enter_autocast;
}

Construction leave(Context& ctx, V autocast) {
  return {ctx.constant_share(
              object_at<"torch.amp.autocast_mode.autocast.__exit__">()),
          {autocast, ctx.none(), ctx.none(), ctx.none()}};
}

PyObject* function_of_torch(const char* name) {
  const std::string path = std::string("torch._C.") + name;
  PyObject* function = find_object(path.c_str());
  MG_CHECK(function, "torch has no " + path);
  return function;
}

// The calls, each with its argument, from one choice of kernels to the other.
std::vector<std::pair<PyObject*, Ref>> attention_calls(uint64_t from,
                                                       uint64_t to) {
  std::vector<std::pair<PyObject*, Ref>> calls;
  for (const auto& [function, is_on] : tensor::attention_switches(from, to))
    calls.emplace_back(function_of_torch(function),
                       Ref::share(is_on ? Py_True : Py_False));
  const std::vector<int64_t> order = tensor::attention_order(to);
  if (order != tensor::attention_order(from)) {
    Ref places = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(order.size())));
    MG_CHECK(places, "memory for some numbers");
    for (size_t i = 0; i < order.size(); ++i)
      PyTuple_SET_ITEM(places.get(), static_cast<Py_ssize_t>(i),
                       PyLong_FromLongLong(order[i]));
    calls.emplace_back(function_of_torch("_set_sdp_priority_order"),
                       std::move(places));
  }
  return calls;
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
    uint64_t left = tensor::autograd_state();
    bool is_outermost = true;
    // In the order in which they were entered: an inference mode that ends puts
    // back what autocast was when it began.
    for (const EnteredContext& context : ctx_.entered_contexts.open()) {
      if (!is_inference_mode(context)) {
        enter_autocast(context);
        continue;
      }
      V manager = inference_mode_of(ctx_, context);
      if (!manager) return std::nullopt;
      const auto outside =
          static_cast<uint64_t>(ctx_.heap[manager->heap].number);
      if (!enter(context, manager, outside)) return std::nullopt;
      if (std::exchange(is_outermost, false)) left = outside;
    }
    if (!expect(tensor::autograd_state())) return std::nullopt;
    for (PyObject* device : ctx_.default_devices.open())
      again_.push_back(
          {ctx_.constant_share(object_at<"torch.device.__enter__">()),
           {ctx_.constant_share(device)}});
    leave_all(left);
    choose_attention();
    return std::move(again_);
  }

  // The same for the kernels of attention alone.
  std::vector<Construction> run_for_attention() {
    choose_attention();
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

  // `outside`: the autograd state that it was entered in.
  bool enter(const EnteredContext& context, V manager, uint64_t outside) {
    if (!expect(outside)) return false;
    PyObject* mode = ctx_.graph().node(context.node).args[0].constant();
    // To make torch's C++ object is to enter it.
    V entered = ctx_.object(reinterpret_cast<PyTypeObject*>(
        object_at<"torch._C._InferenceMode">()));
    ctx_.heap.initial(entered->heap).slots = {ctx_.constant_share(mode)};
    again_.push_back(
        {ctx_.constant_share(object_at<"builtins.setattr">()),
         {manager, ctx_.constant_share(name<"_inference_mode_context">()),
          entered}});
    reached_ = tensor::inference_state(mode == Py_True);
    return true;
  }

  void enter_autocast(const EnteredContext& context) {
    if (is_left_autocast(context)) {
      again_.push_back(leave(ctx_, manager_of(ctx_, context)));
      return;
    }
    Construction call{ctx_.constant_share(torch_objects().enter_autocast), {}};
    for (const graph::Arg& arg : ctx_.graph().node(context.node).args)
      call.positional.push_back(ctx_.constant_share(arg.constant()));
    again_.push_back(std::move(call));
  }

  // Records that the graph leaves what it is in, after which the thread is in
  // `left` but for the grad mode.
  void leave_all(uint64_t left) {
    while (!ctx_.entered_contexts.open().empty()) leave_context(ctx_);
    if (tensor::has_grad_mode(left) != start_.grad_mode())
      ctx_.graph().call_function(
          torch_objects().set_grad_enabled,
          {ctx_.graph().constant(ctx_.boolean(start_.grad_mode())->object)}, {},
          {}, ctx_.inliner->origin());
  }

  // The graph goes back to the kernels that it began with.
  void choose_attention() {
    const uint64_t now = tensor::attention_kernels();
    if (now == start_.attention) return;
    for (auto& [function, argument] : attention_calls(now, start_.attention))
      ctx_.graph().call_function(function,
                                 {ctx_.graph().constant(argument.get())}, {},
                                 {}, ctx_.inliner->origin());
    for (auto& [function, argument] : attention_calls(start_.attention, now))
      again_.push_back({ctx_.constant_share(function),
                        {ctx_.constant(std::move(argument))}});
  }

  Context& ctx_;
  const StateAtStart& start_;
  uint64_t reached_;
  std::vector<Construction> again_;
};

}  // namespace

bool StateAtStart::grad_mode() const { return tensor::has_grad_mode(autograd); }

StateAtStart StateAtStart::now() {
  return {tensor::autograd_state(), tensor::attention_kernels()};
}

std::vector<V> entered_inference_modes(Context& ctx) {
  std::vector<V> managers;
  for (const EnteredContext& context : ctx.entered_contexts.open())
    if (is_inference_mode(context))
      managers.push_back(inference_mode_of(ctx, context));
  return managers;
}

bool is_innermost_entered(Context& ctx, V manager) {
  const auto open = ctx.entered_contexts.open();
  return manager->heap.valid() && !open.empty() &&
         !is_left_autocast(open.back()) && open.back().manager == manager->heap;
}

bool has_entered(Context& ctx) {
  return !std::ranges::all_of(ctx.entered_contexts.open(), is_left_autocast);
}

bool is_entered(Context& ctx, V manager) {
  return std::ranges::any_of(
      ctx.entered_contexts.open(), [&](const EnteredContext& context) {
        return context.manager == manager->heap && !is_left_autocast(context);
      });
}

graph::NodeId enter_context(Context& ctx, V manager, Kind kind,
                            std::span<const graph::Arg> args) {
  const graph::NodeId node = ctx.graph().call_function(
      function_that_enters(kind), args, {}, {}, ctx.inliner->origin());
  ctx.entered_contexts.enter(ctx.journal, {kind, node, manager->heap});
  return node;
}

void leave_context(Context& ctx) {
  const EnteredContext& context = ctx.entered_contexts.open().back();
  ctx.graph().call_function(function_that_leaves(context.kind), {context.node},
                            {}, {}, ctx.inliner->origin());
  ctx.entered_contexts.leave(ctx.journal);
}

std::optional<std::vector<Construction>> close_states(
    Context& ctx, const StateAtStart& start) {
  if (ctx.items_by != values::ItemsBy::Number) return std::nullopt;
  return Closing(ctx, start).run();
}

std::optional<std::vector<Construction>> close_for_caller(
    Context& ctx, const StateAtStart& start) {
  const auto open = ctx.entered_contexts.open();
  // What was entered since stands in the way.
  if (!std::ranges::all_of(open, is_left_autocast))
    return close_states(ctx, start);
  std::vector<Construction> calls = Closing(ctx, start).run_for_attention();
  for (const EnteredContext& context : open)
    calls.push_back(leave(ctx, manager_of(ctx, context)));
  while (!ctx.entered_contexts.open().empty()) leave_context(ctx);
  return calls;
}

}  // namespace magneto::natives
