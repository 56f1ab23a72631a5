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
#include "natives/marks.h"
#include "natives/torch/rows.h"
#include "python/find.h"
#include "python/sequences.h"
#include "tensor/ambient.h"
#include "tensor/transforms.h"

namespace magneto::natives {

namespace {

Signal refuse(Context& ctx, const std::string& why, const char* hint) {
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
  std::vector<V> dirty;      // by mark_dirty()
  PyObject* name = nullptr;  // of the class, after which grad_fn is called
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
  MG_DO(tensors_of(ctx, parts[3], out.dirty));
  out.context = parts[4];
  out.items = {out.result};
  if (PyType_IsSubtype(out.result->type, &PyTuple_Type)) {
    out.items.clear();
    MG_DO(values::unpack(ctx, out.result, out.items));
  }
  for (V& item : out.items) {
    item = ctx.look_symbolic(item);
    if (item->kind != Kind::Tensor) continue;
    const bool is_dirty = std::ranges::count(out.dirty, item) != 0;
    if ((!body.is_own(item) && !is_dirty) ||
        std::ranges::count(out.outputs, item) != 0)
      return refuse(ctx, "gives a tensor that it hasn't made, or one twice",
                    "return a clone() of it");
    out.outputs.push_back(item);
  }
  const auto is_given = [&](V tensor) {
    return std::ranges::count(out.outputs, tensor) != 0;
  };
  if (out.outputs.empty() ||
      !std::ranges::all_of(body.tensors_in(out.result), is_given))
    return refuse(ctx, "gives no tensors, or some in a container",
                  kPlainResult);
  if (!std::ranges::all_of(out.dirty, is_given))
    return refuse(ctx, "marks a tensor as dirty that it doesn't give",
                  "return it");
  // PyTorch's compilers write to such a one without the history that it gets.
  for (V dirty : out.dirty)
    if (ctx.given_tensors.has_memory_of(dirty))
      return refuse(ctx, "writes to a tensor of the caller's", "clone() it");
  return done;
}

// A gradient of each output, as an input of the backward's graph; None for
// outputs that are no tensors.
Status make_gradients(Context& ctx, const Forward& forward, Body& body,
                      std::vector<V>& gradients) {
  static PyObject* const empty_like = find_object("torch.empty_like");
  for (V item : forward.items) {
    if (item->kind != Kind::Tensor) {
      gradients.push_back(ctx.none());
      continue;
    }
    Ref fake = Ref::steal(PyObject_CallOneArg(empty_like, fake_of(item)));
    if (!fake) return ctx.raise_from_python();
    gradients.push_back(
        body.add_input(std::move(fake), "grad", /*is_written=*/true));
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
  MG_DO(make_gradients(ctx, given, body, args));
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

// As a list of the graph's: where in `all` those of `some` are that are there.
graph::Arg places(Context& ctx, std::span<const graph::NodeId> all,
                  std::span<const graph::NodeId> some) {
  std::vector<graph::Arg> found;
  for (graph::NodeId each : some)
    if (const auto at = std::ranges::find(all, each); at != all.end())
      found.push_back(
          ctx.graph().constant(ctx.integer(at - all.begin())->object));
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
  Ref dirty = fakes_of(forward.dirty);
  Ref given = python::tuple_of(inputs);
  PyObject* all[] = {outputs, non_differentiable, dirty, given};
  Ref result = Ref::steal(PyObject_Vectorcall(run, all, 4, nullptr));
  if (!result) return ctx.raise_from_python();
  return done;
}

void record(Context& ctx, Body& forward, Body& backward, const Forward& given,
            std::span<const graph::Keyword> options) {
  static PyObject* const operation =
      find_object("torch._functorch.autograd_function.autograd_function_apply");
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  graph.adopt(backward.graph());
  forward.graph().set_meta("autograd_function", Ref::share(given.name));
  std::vector<graph::Arg> operands{
      graph.install(forward.graph(), "fwd_body", origin),
      graph.install(backward.graph(), "bwd_body", origin)};
  for (graph::NodeId taken : graph::lifted_operands(forward.graph()))
    operands.push_back(taken);
  const graph::NodeId node = graph.call_function(
      operation, operands, options, fakes_of(given.outputs), origin);
  if (!given.dirty.empty()) graph.set_has_effect(node);
  become_items(ctx, node, given.outputs);
}

Outcome<V> apply_differentiated(Context& ctx, const Arguments& args) {
  V cls = ctx.look(args.positional[0]);
  if (!cls->object || !PyType_Check(cls->object))
    return refuse(ctx, "is made while tracing", "define it outside");
  const std::string name =
      reinterpret_cast<PyTypeObject*>(cls->object)->tp_name;
  // What it is given, before it writes to it.
  std::vector<graph::NodeRef> tensors(args.count() - 1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    V value = ctx.look_symbolic(args.positional[i + 1]);
    if (value->kind != Kind::Tensor) continue;
    const graph::NodeRef node = ctx.heap[value->heap].node;
    if (std::ranges::find(tensors, node) != tensors.end())
      return refuse(ctx, "is given a tensor twice", "give it a view_as()");
    tensors[i] = node;
  }
  MG_TRY(V function, polyfill(ctx, "torch_autograd.function_forward"));
  Body forward(ctx, name + ".forward");
  Outcome<V> traced = forward.trace_writer(function, args);
  // What it raises, the program may catch.
  if (forward.raised())
    return call_polyfill(ctx, "torch_autograd.function_apply", args);
  if (!traced) return traced;
  if (const std::string write = forward.write_that_needs_it(); !write.empty())
    return refuse(ctx, "has effects: in its forward " + write,
                  "let it return what it computes");
  Forward given;
  Ref text = Ref::steal(PyUnicode_FromString(name.c_str()));
  MG_CHECK(text, "the name of a class is a text");
  given.name = ctx.keep(std::move(text));
  MG_DO(read_forward(ctx, forward, *traced, given));
  MG_DO(forward.expect_writes_to(given.dirty));
  std::vector<graph::NodeId> arguments(tensors.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (tensors[i].valid()) arguments[i] = ctx.tracer.lift(tensors[i]);
  const std::vector<graph::NodeId> told = nodes_of(ctx, given.saved);
  Body backward(ctx, name + ".backward");
  MG_DO(trace_backward(ctx, "its backward", cls, forward, given, arguments,
                       backward));
  // A backward that reads one of what save_for_backward() was told reads all.
  std::vector<graph::NodeId> saved = graph::lifted_operands(backward.graph());
  if (std::ranges::find_first_of(saved, told) != saved.end())
    for (graph::NodeId each : told) backward.graph().lift(each);
  saved = graph::lifted_operands(backward.graph());
  const std::vector<graph::NodeId> outputs = nodes_of(ctx, given.outputs);
  std::vector<graph::Keyword> options = {
      {natives::name<"non_differentiable_idx">(),
       places(ctx, outputs, nodes_of(ctx, given.non_differentiable))},
      {natives::name<"saved_for_backward_idx">(), places(ctx, saved, told)}};
  if (!given.dirty.empty())
    options.push_back({natives::name<"dirty_idx">(),
                       places(ctx, outputs, nodes_of(ctx, given.dirty))});
  const std::vector<graph::Arg> gives(outputs.begin(), outputs.end());
  const std::vector<graph::Arg> keeps(saved.begin(), saved.end());
  forward.end(
      ctx.graph().tuple({ctx.graph().tuple(gives), ctx.graph().tuple(keeps)}));
  MG_DO(differentiate(ctx, given, args));
  record(ctx, forward, backward, given, options);
  return given.result;
}

// Whether all levels of transforms are vmap's.
bool is_only_vmapped() {
  const Ref levels = Ref::steal(PyObject_CallNoArgs(
      object_at<"torch._C._functorch.get_interpreter_stack">()));
  if (!levels || !PyList_Check(levels.get())) {
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(levels.get()); ++i) {
    const Ref key = Ref::steal(
        PyObject_CallMethod(PyList_GET_ITEM(levels.get(), i), "key", nullptr));
    if (!key || PyObject_RichCompareBool(
                    key, object_at<"torch._C._functorch.TransformType.Vmap">(),
                    Py_EQ) != 1) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

// Whether PyTorch makes the function's batching rule of its forward, and there
// is nothing but that to do.
bool is_forward_in_transform(Context& ctx, V cls, const Arguments& args) {
  const Ref generates = Ref::steal(
      cls->object ? PyObject_GetAttrString(cls->object, "generate_vmap_rule")
                  : nullptr);
  PyErr_Clear();
  if (generates.get() != Py_True || !is_only_vmapped()) return false;
  ctx.guards.ambient(guards::Ambient::GradMode);
  if (!tensor::grad_mode()) return true;
  std::vector<PyObject*> tensors;
  for (V value : args.positional) {
    value = ctx.look_symbolic(value);
    if (value->kind == Kind::Tensor) tensors.push_back(fake_of(value));
  }
  const Ref needs = call_on_fakes<"torch_autograd.need_gradients">(tensors);
  PyErr_Clear();
  return needs.get() == Py_False;
}

// (cls, *args)
Outcome<V> apply(Context& ctx, const Arguments& args) {
  if (args.has_keywords())
    return refuse(ctx, "is given keywords", "give it all in order");
  V cls = ctx.look(args.positional[0]);
  if (cls->object && mark_of(cls->object) == Mark::InGraph) {
    Ref applied = Ref::steal(PyObject_GetAttrString(cls->object, "apply"));
    if (!applied) return ctx.raise_from_python();
    return call_marked(ctx, ctx.keep(std::move(applied)), Mark::InGraph,
                       {.positional = args.positional.subspan(1)});
  }
  if (tensor::is_in_transform()) {
    if (is_forward_in_transform(ctx, cls, args))
      return call_polyfill(ctx, "torch_autograd.function_apply", args);
    return refuse(ctx, "is applied in a transform of torch.func",
                  "write what it does with operators that torch.func knows");
  }
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
