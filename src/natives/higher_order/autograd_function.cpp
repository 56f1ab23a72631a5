// SPDX-License-Identifier: BSD-3-Clause
// torch.autograd.Function.apply. Where nothing is differentiated there is only
// the forward, as any other function. Otherwise the forward and the backward
// become graphs that the operator autograd_function_apply is given.
//
// The backward is traced when the forward has been, within it: what it reads of
// the forward's values is lifted, which is what the forward is to save. Then
// the two graphs stand side by side:
//
//   forward(*operands)       -> ((*outputs,), (*saved,))
//   backward(*grads, *saved) -> (*gradients of the operands, or None,)
#include <algorithm>

#include "natives/higher_order/body.h"
#include "natives/torch/rows.h"
#include "python/find.h"
#include "python/sequences.h"
#include "tensor/ambient.h"

namespace magneto::natives {

namespace {

Signal refuse(Context& ctx, std::string why, const char* hint) {
  return ctx.graph_break("autograd-function",
                         "a torch.autograd.Function " + why, hint);
}

constexpr const char* kPlainResult = "let it give a tensor or a tuple of them";

// Of fakes nobody knows whether they have a tangent.
bool is_differentiated(Context& ctx, const Arguments& args) {
  ctx.guards.ambient(guards::Ambient::GradMode);
  if (!tensor::grad_mode()) return false;
  return std::ranges::any_of(args.positional, [&](V value) {
    value = ctx.look_symbolic(value);
    return value->kind == Kind::Tensor && tensor::requires_grad(fake_of(value));
  });
}

// What torch_autograd.function_forward gives.
struct Forward {
  V result = nullptr;
  V context = nullptr;
  std::vector<V> items;    // of the result
  std::vector<V> outputs;  // those that are tensors
  std::vector<V> saved;    // by save_for_backward()
  std::vector<V> non_differentiable;
};

// The tensors in a tuple.
Status tensors_of(Context& ctx, V tuple, std::vector<V>& tensors) {
  std::vector<V> items;
  MG_DO(values::unpack(ctx, ctx.look(tuple), items));
  for (V item : items)
    if (V value = ctx.look(item); value->kind == Kind::Tensor)
      tensors.push_back(value);
  return done;
}

Status read_forward(Context& ctx, const Body& body, V traced, Forward& out) {
  const auto parts = values::tuple_items(ctx.look(traced));
  out.result = ctx.look(parts[0]);
  MG_DO(tensors_of(ctx, parts[1], out.saved));
  MG_DO(tensors_of(ctx, parts[2], out.non_differentiable));
  std::vector<V> dirty;
  MG_DO(tensors_of(ctx, parts[3], dirty));
  if (!dirty.empty())
    return refuse(ctx, "writes to an argument", "let it return what it made");
  out.context = parts[4];
  out.items = {out.result};
  if (PyType_IsSubtype(out.result->type, &PyTuple_Type)) {
    out.items.clear();
    MG_DO(values::unpack(ctx, out.result, out.items));
  }
  for (V& item : out.items) {
    item = ctx.look_symbolic(item);
    if (item->kind != Kind::Tensor) continue;
    if (!body.is_own(item) || std::ranges::count(out.outputs, item) != 0)
      return refuse(ctx, "gives a tensor that it hasn't made, or one twice",
                    "return a clone() of it");
    out.outputs.push_back(item);
  }
  if (out.outputs.empty() ||
      body.tensors_in(out.result).size() != out.outputs.size())
    return refuse(ctx, "gives no tensors, or some in a container",
                  kPlainResult);
  return done;
}

// Autograd calls a backward with gradients off, unless those of gradients are
// asked for: so the graph doesn't say so.
class NoGradScope {
 public:
  NoGradScope() : before_(tensor::grad_mode()) { tensor::set_grad_mode(false); }
  ~NoGradScope() { tensor::set_grad_mode(before_); }
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

 private:
  bool before_;
};

// A gradient of each output, as an input of the backward's graph; None for
// outputs that are no tensors.
Status make_gradients(Context& ctx, const Forward& forward,
                      std::vector<V>& gradients) {
  static PyObject* const empty_like = find_object("torch.empty_like");
  for (V item : forward.items) {
    if (item->kind != Kind::Tensor) {
      gradients.push_back(ctx.none());
      continue;
    }
    Ref fake = Ref::steal(PyObject_CallOneArg(empty_like, fake_of(item)));
    if (!fake) return ctx.raise_from_python();
    const graph::NodeId input = ctx.graph().placeholder(
        {.source = graph::kNoSource, .source_name = "grad"}, fake.share(),
        ctx.inliner->origin());
    ctx.symbols.remember_sizes(fake, ctx.tracer.ref(input));
    PyTypeObject* type = Py_TYPE(fake.get());
    gradients.push_back(
        ctx.tensor(std::move(fake), ctx.tracer.ref(input), type));
  }
  return done;
}

// The node of the innermost graph for a tensor.
graph::NodeId node_of(Context& ctx, V tensor) {
  return ctx.tracer.lift(ctx.heap[tensor->heap].node);
}

// The gradients of the forward's operands: what the backward gives for the
// arguments that they are, None for others. `arguments`: the node of the
// forward for each argument, invalid for those that are no tensors.
Status align(Context& ctx, const Body& forward, V result,
             std::span<const graph::NodeId> arguments,
             std::vector<graph::Arg>& aligned) {
  std::vector<V> items;
  MG_DO(values::unpack(ctx, ctx.look(result), items));
  std::vector<graph::NodeId> nodes(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    V item = ctx.look(items[i]);
    if (item->kind == Kind::Tensor && i < arguments.size())
      nodes[i] = node_of(ctx, item);
    else if (item->object != Py_None)
      return refuse(ctx, "has a backward that gives no tensor or None for each",
                    "let it give as much as the forward has arguments");
  }
  if (items.size() < arguments.size())
    return refuse(ctx, "has a backward that gives too few gradients",
                  "let it give as much as the forward has arguments");
  for (const graph::Input& input : forward.graph().inputs()) {
    graph::Arg gradient = ctx.graph().none();
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i] == input.node && nodes[i].valid()) gradient = nodes[i];
    aligned.push_back(gradient);
  }
  return done;
}

// Traces the backward into a graph nested in the forward's.
Status trace_backward(Context& ctx, const std::string& whose, V cls,
                      const Body& forward, const Forward& given,
                      std::span<const graph::NodeId> arguments, Body& body) {
  std::vector<V> args{cls, given.context};
  MG_DO(make_gradients(ctx, given, args));
  const NoGradScope no_grad;
  MG_TRY(V function, polyfill(ctx, "torch_autograd.function_backward"));
  MG_TRY(V result, body.trace(function, {.positional = args}));
  if (const std::string write = body.write(); !write.empty())
    return refuse(ctx, "has effects: in " + whose + " " + write,
                  "let it return what it computes");
  std::vector<graph::Arg> aligned;
  MG_DO(align(ctx, forward, result, arguments, aligned));
  body.end(ctx.graph().tuple(aligned));
  return done;
}

// As a list of the graph's: which of `all` are among `some`.
graph::Arg places(Context& ctx, std::span<const graph::NodeId> all,
                  std::span<const graph::NodeId> some) {
  std::vector<graph::Arg> found;
  for (size_t i = 0; i < all.size(); ++i)
    if (std::ranges::find(some, all[i]) != some.end())
      found.push_back(
          ctx.graph().constant(ctx.integer(static_cast<int64_t>(i))->object));
  return ctx.graph().list(found);
}

std::vector<graph::NodeId> nodes_of(Context& ctx, std::span<const V> tensors) {
  std::vector<graph::NodeId> nodes;
  for (V tensor : tensors) nodes.push_back(node_of(ctx, tensor));
  return nodes;
}

// The outputs get the history that autograd gives those of such a function. A
// rollback takes it away again.
Status differentiate(Context& ctx, const Forward& forward,
                     const Arguments& args) {
  static PyObject* const run =
      find_object("magneto.polyfills.torch_autograd.differentiate");
  std::vector<PyObject*> inputs;
  for (V value : args.positional) {
    value = ctx.look_symbolic(value);
    if (value->kind == Kind::Tensor) inputs.push_back(fake_of(value));
  }
  for (V output : forward.outputs) tensor::record_metadata(fake_of(output));
  Ref outputs = fakes_of(forward.outputs);
  Ref non_differentiable = fakes_of(forward.non_differentiable);
  Ref given = python::tuple_of(inputs);
  PyObject* all[] = {outputs, non_differentiable, given};
  Ref result = Ref::steal(PyObject_Vectorcall(run, all, 3, nullptr));
  if (!result) return ctx.raise_from_python();
  return done;
}

void record(Context& ctx, Body& forward, Body& backward, const Forward& given,
            graph::Arg non_differentiable, graph::Arg saved_for_backward) {
  static PyObject* const operation =
      find_object("torch._functorch.autograd_function.autograd_function_apply");
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  graph.adopt(backward.graph());
  std::vector<graph::Arg> operands{
      graph.install(forward.graph(), "fwd_body", origin),
      graph.install(backward.graph(), "bwd_body", origin)};
  for (graph::NodeId taken : graph::lifted_operands(forward.graph()))
    operands.push_back(taken);
  const graph::Keyword options[] = {
      {name<"non_differentiable_idx">(), non_differentiable},
      {name<"saved_for_backward_idx">(), saved_for_backward}};
  const graph::NodeId node = graph.call_function(
      operation, operands, options, fakes_of(given.outputs), origin);
  become_items(ctx, node, given.outputs);
}

Outcome<V> apply_differentiated(Context& ctx, const Arguments& args) {
  V cls = ctx.look(args.positional[0]);
  const std::string name =
      PyType_Check(cls->object)
          ? reinterpret_cast<PyTypeObject*>(cls->object)->tp_name
          : "a torch.autograd.Function";
  MG_TRY(V function, polyfill(ctx, "torch_autograd.function_forward"));
  Body forward(ctx, name + ".forward");
  Outcome<V> traced = forward.trace(function, args);
  // What it raises, the program may catch.
  if (forward.raised())
    return call_polyfill(ctx, "torch_autograd.function_apply", args);
  if (!traced) return traced;
  if (const std::string write = forward.write(); !write.empty())
    return refuse(ctx, "has effects: in its forward " + write,
                  "let it return what it computes");
  Forward given;
  MG_DO(read_forward(ctx, forward, *traced, given));
  std::vector<graph::NodeId> arguments(args.count() - 1);
  for (size_t i = 0; i < arguments.size(); ++i) {
    V value = ctx.look_symbolic(args.positional[i + 1]);
    if (value->kind != Kind::Tensor) continue;
    const graph::NodeId node = node_of(ctx, value);
    if (std::ranges::find(arguments, node) != arguments.end())
      return refuse(ctx, "is given a tensor twice", "give it a view_as()");
    arguments[i] = node;
  }
  Body backward(ctx, name + ".backward");
  MG_DO(trace_backward(ctx, "its backward", cls, forward, given, arguments,
                       backward));
  const std::vector<graph::NodeId> saved =
      graph::lifted_operands(backward.graph());
  const std::vector<graph::NodeId> outputs = nodes_of(ctx, given.outputs);
  const graph::Arg non_differentiable =
      places(ctx, outputs, nodes_of(ctx, given.non_differentiable));
  const graph::Arg saved_for_backward =
      places(ctx, saved, nodes_of(ctx, given.saved));
  const std::vector<graph::Arg> gives(outputs.begin(), outputs.end());
  const std::vector<graph::Arg> keeps(saved.begin(), saved.end());
  forward.end(
      ctx.graph().tuple({ctx.graph().tuple(gives), ctx.graph().tuple(keeps)}));
  MG_DO(differentiate(ctx, given, args));
  record(ctx, forward, backward, given, non_differentiable, saved_for_backward);
  return given.result;
}

// (cls, *args)
Outcome<V> apply(Context& ctx, const Arguments& args) {
  if (args.has_keywords())
    return refuse(ctx, "is given keywords", "give it all in order");
  ctx.guards.ambient(guards::Ambient::ForwardLevel);
  if (tensor::forward_level_state())
    return refuse(ctx, "may be given dual tensors",
                  "leave torch.autograd.forward_ad's levels first");
  if (is_differentiated(ctx, args)) return apply_differentiated(ctx, args);
  return call_polyfill(ctx, "torch_autograd.function_apply", args);
}

constexpr Row kRows[] = {
    {"torch.autograd.function", "Function.apply", apply, 1, kAny, "*"},
};

}  // namespace

std::span<const Row> autograd_function_rows() { return kRows; }

}  // namespace magneto::natives
