// SPDX-License-Identifier: BSD-3-Clause
// torch.utils.checkpoint: the function becomes a graph that the operator
// tag_activation_checkpoint is given, whose nodes PyTorch's partitioners then
// compute again for the backward.
//
// In plain Python the function itself runs again in the backward. So whatever
// it writes it would write twice: then the graph breaks.
#include <algorithm>
#include <array>

#include "natives/higher_order/body.h"
#include "natives/signature.h"
#include "natives/torch/rows.h"
#include "python/find.h"
#include "python/sequences.h"
#include "tensor/ambient.h"

namespace magneto::natives {

namespace {

constexpr const char* kWhose = "the function of torch.utils.checkpoint";

struct Call {
  V function = nullptr;
  // What the function is called with.
  std::vector<V> keyword_values;
  std::vector<PyObject*> keyword_names;
  Arguments args;
  // What says how: each is a constant.
  std::vector<graph::Keyword> options;
  bool is_reentrant = true;      // as long as nobody says
  PyObject* contexts = nullptr;  // context_fn, where one is given
  bool is_debugged = false;
};

bool is_option(PyObject* name) {
  static const std::array<PyObject*, 6> names = {
      natives::name<"use_reentrant">(),
      natives::name<"context_fn">(),
      natives::name<"determinism_check">(),
      natives::name<"debug">(),
      natives::name<"early_stop">(),
      natives::name<"preserve_rng_state">()};
  return std::ranges::any_of(names, [&](PyObject* each) {
    return PyUnicode_Compare(each, name) == 0;
  });
}

// The real object that a value stands for: the caller's, or a partial that the
// trace has made. Null if there is none.
PyObject* real_callable(Context& ctx, V value) {
  if (value->is_constant()) return value->object;
  if (value->object) {
    ctx.guards.identity(value->source, value->object);
    return value->object;
  }
  static PyObject* const partial = find_object("functools.partial");
  if (reinterpret_cast<PyObject*>(value->type) != partial) return nullptr;
  const std::vector<V> parts = ctx.heap[value->heap].slots;
  PyObject* function = real_callable(ctx, ctx.look(parts[0]));
  PyObject* given = values::as_constant(ctx, parts[1]);
  PyObject* names = values::as_constant(ctx, parts[2]);
  if (!function || !given || !names) return nullptr;
  std::vector<PyObject*> items{function};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i)
    items.push_back(PyTuple_GET_ITEM(given, i));
  Ref arguments = python::tuple_of(items);
  Ref made = Ref::steal(arguments ? PyObject_Call(partial, arguments, names)
                                  : nullptr);
  if (!made) PyErr_Clear();
  return made ? ctx.keep(std::move(made)) : nullptr;
}

// A context_fn whose contexts only say what is kept, as those of
// create_selective_checkpoint_contexts() do: the partitioner asks it. Others
// may do anything to what the function computes.
Outcome<PyObject*> contexts_of(Context& ctx, V value) {
  PyObject* function = real_callable(ctx, value);
  Ref pair = Ref::steal(function ? PyObject_CallNoArgs(function) : nullptr);
  if (function && !pair && !PyErr_ExceptionMatches(PyExc_Exception))
    return ctx.raise_from_python();
  PyErr_Clear();  // plain Python raises it, where it calls the function
  const auto is_one = [&](Py_ssize_t i, PyObject* type) {
    return Py_IS_TYPE(PyTuple_GET_ITEM(pair.get(), i),
                      reinterpret_cast<PyTypeObject*>(type));
  };
  if (pair && PyTuple_Check(pair.get()) && PyTuple_GET_SIZE(pair.get()) == 2 &&
      is_one(0,
             object_at<"torch.utils.checkpoint._CachingTorchDispatchMode">()) &&
      is_one(1, object_at<"torch.utils.checkpoint._CachedTorchDispatchMode">()))
    return function;
  return ctx.graph_break("higher-order-body",
                         "torch.utils.checkpoint with a context_fn that isn't "
                         "create_selective_checkpoint_contexts()'s",
                         "leave it out");
}

Status take_option(Context& ctx, PyObject* name, V value, Call& call) {
  value = ctx.look(value);
  if (PyUnicode_CompareWithASCIIString(name, "context_fn") == 0) {
    if (value->is_constant() &&
        value->object == object_at<"torch.utils.checkpoint.noop_context_fn">())
      return done;
    MG_TRY(call.contexts, contexts_of(ctx, value));
    return done;
  }
  if (value->object != Py_None && value->type != &PyBool_Type &&
      value->type != &PyUnicode_Type)
    return ctx.graph_break(
        "higher-order-body",
        "torch.utils.checkpoint is told by an object what to do",
        "pass True, False or a text");
  if (PyUnicode_CompareWithASCIIString(name, "use_reentrant") == 0)
    call.is_reentrant = value->object != Py_False;
  if (PyUnicode_CompareWithASCIIString(name, "debug") == 0)
    call.is_debugged = value->object != Py_False;
  call.options.push_back({name, ctx.graph().constant(value->object)});
  return done;
}

Status read_call(Context& ctx, const Arguments& args, Call& call) {
  call.function = args.positional[0];
  for (size_t i = 0; i < args.keyword_names.size(); ++i) {
    PyObject* name = args.keyword_names[i];
    if (is_option(name)) {
      MG_DO(take_option(ctx, name, args.keyword_values[i], call));
      continue;
    }
    call.keyword_names.push_back(name);
    call.keyword_values.push_back(args.keyword_values[i]);
  }
  call.args = {.positional = args.positional.subspan(1),
               .keyword_values = call.keyword_values,
               .keyword_names = call.keyword_names};
  return done;
}

Signal leave_reentrant(Context& ctx, const char* why) {
  return ctx.graph_break(
      "higher-order-body",
      std::string("torch.utils.checkpoint with use_reentrant=True ") + why,
      "pass use_reentrant=False");
}

// The older way is an autograd function: its gradients go to tensors that are
// arguments themselves, and to all that it gives or to nothing. Only where that
// is what the other way does, too, the graph has it.
Status expect_reentrant_arguments(Context& ctx, const Call& call) {
  bool any = false;
  for (V value : call.args.positional) {
    value = ctx.look(value);
    any = any || needs_gradient(value);
    if (value->kind != Kind::Tensor && values::contains_tensor(ctx, value))
      return leave_reentrant(ctx,
                             "gives no gradients to tensors in containers");
  }
  if (!any) return leave_reentrant(ctx, "has no argument that needs gradients");
  return done;
}

Status expect_reentrant_result(Context& ctx, const Body& body, V result) {
  result = ctx.look(result);
  std::vector<V> items{result};
  if (result->kind == Kind::Tuple) {
    const auto all = values::tuple_items(result);
    items.assign(all.begin(), all.end());
  }
  for (V item : items) {
    item = ctx.look(item);
    if (item->kind == Kind::Tensor) {
      if (!body.is_own(item))
        return leave_reentrant(ctx, "gives a view of an argument");
      if (tensor::can_require_grad(fake_of(item)) && !needs_gradient(item))
        return leave_reentrant(ctx, "gives a tensor without gradient");
    } else if (values::contains_tensor(ctx, item)) {
      return leave_reentrant(ctx, "gives a container of tensors");
    }
  }
  return done;
}

void record(Context& ctx, Body& body, const Call& call, V result) {
  if (call.contexts)
    body.graph().set_meta("_checkpoint_context_fn", Ref::share(call.contexts));
  record_wrapped(
      ctx, body,
      object_at<"torch.ops.higher_order.tag_activation_checkpoint">(),
      call.options, result);
}

Outcome<V> checkpoint(Context& ctx, const Arguments& args) {
  Call call;
  MG_DO(read_call(ctx, args, call));
  if (call.is_reentrant &&
      (!call.keyword_names.empty() || call.contexts || call.is_debugged))
    return leave_reentrant(ctx, "takes no such keyword");
  ctx.guards.ambient(guards::Ambient::GradMode);
  if (!tensor::grad_mode()) return values::call(ctx, call.function, call.args);
  if (call.is_reentrant) MG_DO(expect_reentrant_arguments(ctx, call));
  Body body(ctx, kWhose);
  Outcome<V> result = body.trace(call.function, call.args);
  // What it raises, the program may catch.
  if (body.raised()) return values::call(ctx, call.function, call.args);
  if (!result) return result;
  if (const std::string write = body.write(); !write.empty())
    return ctx.graph_break(
        "higher-order-body",
        std::string(kWhose) + " runs again in the backward, and " + write,
        "let it return what it computes");
  if (call.is_reentrant) MG_DO(expect_reentrant_result(ctx, body, *result));
  record(ctx, body, call, *result);
  return result;
}

constexpr Row kRows[] = {
    {"torch.utils.checkpoint", "checkpoint", checkpoint, 1, kAny, "*"},
};

}  // namespace

std::span<const Row> checkpoint_rows() { return kRows; }

}  // namespace magneto::natives
