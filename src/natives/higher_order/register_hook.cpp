// SPDX-License-Identifier: BSD-3-Clause
// Tensor.register_hook, and register_post_accumulate_grad_hook. A hook runs in
// the backward, so it doesn't matter when the forward registers it:
//
//   of a tensor of the caller's   at the piece's end, as plain Python would
//   of one that the graph computes   in the graph, by PyTorch's operator
//       register_hook(tensor, body, *taken), whose body is the hook's graph
#include <algorithm>

#include "natives/higher_order/body.h"
#include "natives/torch/rows.h"
#include "tensor/transforms.h"
#include "values/model/attribute_forever.h"
#include "values/torch/lowering.h"

namespace magneto::natives {

namespace {

Signal refuse(Context& ctx, const std::string& name, const std::string& why) {
  return ctx.graph_break("tensor-method", "Tensor." + name + "() " + why,
                         "call it outside of the compiled function");
}

// Nobody has imported its module before the first hook.
PyObject* operation() {
  static PyObject* const found = values::attribute_forever(
      "torch._higher_order_ops.register_hook", "register_hook_op");
  return found;
}

PyObject* registering() {
  return object_at<"magneto.construct.register_hook">();
}

// Whether a tensor is one of the caller's, as the call brought it.
bool is_given(Context& ctx, V tensor) {
  const graph::NodeRef ref = ctx.heap[tensor->heap].node;
  return tensor->source.valid() &&
         ctx.tracer.node(ref).op == graph::Op::Placeholder;
}

// The hook is registered at the end; what is given is filled then.
Outcome<V> register_at_end(Context& ctx, V tensor, V hook, PyObject* name) {
  MG_TRY(V handle, call_polyfill(ctx, "torch_autograd.hook_handle", {}));
  V function = ctx.constant_share(registering());
  V args[] = {handle, tensor, ctx.constant_share(name), hook};
  values::LateCall call(function, {.positional = args});
  call.unwritten = tensor;
  call.version = tensor::version(fake_of(tensor));
  ctx.deferred_calls.note(ctx, std::move(call));
  return handle;
}

Outcome<V> register_in_graph(Context& ctx, V tensor, V hook) {
  Body body(ctx, "a hook of a tensor");
  Ref fake = call_on_fakes<"torch_loops.alike">({fake_of(tensor)});
  if (!fake) return ctx.raise_from_python();
  V gradient = body.add_input(std::move(fake), "grad");
  {
    // Autograd calls hooks with gradients off.
    const NoGradScope no_grad;
    MG_TRY(V result, body.trace(hook, {.positional = {&gradient, 1}}));
    if (const std::string write = body.write(); !write.empty())
      return refuse(ctx, "register_hook", "of a hook with effects: " + write);
    MG_TRY(const values::Both output, values::lower(ctx, result, {}));
    body.end(output.arg);
  }
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  std::vector<graph::Arg> operands{
      ctx.tracer.lift(ctx.heap[tensor->heap].node),
      graph.install(body.graph(), "hook_body", origin)};
  for (graph::NodeId taken : graph::lifted_operands(body.graph()))
    operands.push_back(taken);
  const graph::NodeId node = graph.call_function(
      operation(), operands, {}, Ref::share(fake_of(tensor)), origin);
  graph.set_has_effect(node);
  ctx.heap.set_node(tensor->heap, ctx.tracer.ref(node));
  return ctx.none();
}

Outcome<V> register_anywhere(Context& ctx, V tensor, V hook, bool is_dropped) {
  const std::string name = "register_hook";
  if (!tensor::requires_grad(fake_of(tensor)))
    return refuse(ctx, name, "of a tensor without gradients");
  if (ctx.tracer.depth() != 0 || tensor::is_in_transform())
    return refuse(ctx, name, "within a function that an operator is given");
  if (is_given(ctx, tensor))
    return register_at_end(ctx, tensor, hook, natives::name<"register_hook">());
  if (!is_dropped)
    return refuse(ctx, name,
                  "of a tensor that the graph computes, where its handle is "
                  "used");
  return register_in_graph(ctx, tensor, hook);
}

// (tensor, hook)
Outcome<V> register_hook(Context& ctx, const Arguments& args) {
  const bool is_dropped =
      std::exchange(ctx.native_is_direct, false) && ctx.inliner->drops_result();
  V tensor = ctx.look(args.positional[0]);
  const bool is_used = is_used_in_graph(ctx, tensor);
  Outcome<V> handle =
      register_anywhere(ctx, tensor, args.positional[1], is_dropped);
  if (handle || handle.signal() != Signal::Break || !is_used) return handle;
  // To PyTorch's compilers a tensor that a graph both gives and uses is two.
  const values::BreakInfo why = ctx.break_info();
  return ctx.skip("tensor-method",
                  why.detail +
                      "; the graph has used the tensor, so that its "
                      "gradient wouldn't be whole",
                  "call it in front of the tensor's first use");
}

// (tensor, hook)
Outcome<V> register_post_accumulate_grad_hook(Context& ctx,
                                              const Arguments& args) {
  V tensor = ctx.look(args.positional[0]);
  const std::string name = "register_post_accumulate_grad_hook";
  if (!tensor::requires_grad(fake_of(tensor)) || !is_given(ctx, tensor) ||
      ctx.tracer.depth() != 0)
    return refuse(ctx, name, "of a tensor that isn't a leaf of the caller's");
  return register_at_end(ctx, tensor, args.positional[1],
                         natives::name<"register_post_accumulate_grad_hook">());
}

// Of a handle whose hook is registered at the end, it is removed after that.
Outcome<V> remove(Context& ctx, const Arguments& args) {
  V handle = ctx.look(args.positional[0]);
  const auto calls = ctx.deferred_calls.calls();
  const bool waits =
      std::ranges::any_of(calls, [&](const values::LateCall& call) {
        return call.function->object == registering() &&
               call.arguments[0] == handle;
      });
  V function =
      ctx.known(object_at<"torch.utils.hooks.RemovableHandle.remove">());
  if (!waits) return ctx.inliner->inline_function(function, args);
  ctx.deferred_calls.note(ctx, values::LateCall(function, args));
  return ctx.none();
}

constexpr Row kRows[] = {
    {"torch", "Tensor.register_hook", register_hook, 2, 2, ""},
    {"torch", "Tensor.register_post_accumulate_grad_hook",
     register_post_accumulate_grad_hook, 2, 2, ""},
    {"torch.utils.hooks", "RemovableHandle.remove", remove, 1, 1, ""},
};

}  // namespace

std::span<const Row> register_hook_rows() { return kRows; }

}  // namespace magneto::natives
