// SPDX-License-Identifier: BSD-3-Clause
// Questions that torch's code asks of itself and of its arguments, and that
// have a plain answer while tracing.
#include "natives/pure.h"
#include "natives/torch/rows.h"
#include "python/find.h"
#include "python/names.h"
#include "tensor/fake_tensor.h"

namespace magneto::natives {

namespace {

Outcome<V> yes(Context& ctx, const Arguments&) { return ctx.boolean(true); }
Outcome<V> no(Context& ctx, const Arguments&) { return ctx.boolean(false); }
Outcome<V> nothing(Context& ctx, const Arguments&) { return ctx.none(); }
Outcome<V> zero(Context& ctx, const Arguments&) { return ctx.integer(0); }
Outcome<V> first(Context&, const Arguments& args) { return args.positional[0]; }
Outcome<V> second(Context&, const Arguments& args) {
  return args.positional[1];
}

Outcome<V> is_tensor(Context& ctx, const Arguments& args) {
  return ctx.boolean(ctx.look_symbolic(args.positional[0])->kind ==
                     Kind::Tensor);
}

// Tensors here are plain ones, and an object's class must say that it takes
// part. (Modes that are active see the calls as they are made.)
Outcome<bool> overrides_functions(Context& ctx, V value) {
  value = ctx.look_symbolic(value);
  if (value->kind == Kind::Tensor ||
      !(value->type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return false;
  // torch asks the object itself.
  for (PyObject* hook :
       {interned().dunder_getattr, interned().dunder_getattribute})
    if (values::own_special(ctx, value->type, hook))
      return ctx.graph_break("native-call",
                             std::string("a function of torch with a ") +
                                 value->type->tp_name +
                                 ", which makes its attributes itself",
                             "pass tensors and plain data");
  return values::type_lookup(ctx, value->type,
                             interned().dunder_torch_function) != nullptr;
}

Outcome<V> has_torch_function(Context& ctx, const Arguments& args) {
  std::vector<V> items;
  MG_DO(values::unpack(ctx, args.positional[0], items));
  for (V item : items) {
    MG_TRY(bool overrides, overrides_functions(ctx, item));
    if (overrides) return ctx.boolean(true);
  }
  return ctx.boolean(false);
}

Outcome<V> has_torch_function_variadic(Context& ctx, const Arguments& args) {
  for (V item : args.positional) {
    MG_TRY(bool overrides, overrides_functions(ctx, item));
    if (overrides) return ctx.boolean(true);
  }
  return ctx.boolean(false);
}

// Yes; but Module.__call__ asks so as to leave out those hooks that run even if
// forward() raises, which plain Python doesn't.
Outcome<V> is_compiling(Context& ctx, const Arguments&) {
  V module = nullptr;
  bool is_call_of_module = false;
  for (const auto& [variable, value] : ctx.inliner->current_locals()) {
    if (variable == name<"self">()) module = value;
    is_call_of_module |= variable == name<"called_always_called_hooks">();
  }
  if (!module || !is_call_of_module) return ctx.boolean(true);
  PyObject* everywhere = object_at<
      "torch.nn.modules.module._global_forward_hooks_always_called">();
  MG_TRY(V own, values::get_attribute(ctx, module,
                                      name<"_forward_hooks_always_called">()));
  for (V hooks : {ctx.known(everywhere), own}) {
    MG_TRY(const bool has_some, values::truth(ctx, hooks));
    if (has_some) return ctx.boolean(false);
  }
  return ctx.boolean(true);
}

// magneto.backends.safety.judge_of(operator): what calls the operator and notes
// whether the overload that it comes to may be in a graph; None if all of them
// may.
PyObject* judge_of(PyObject* callee) {
  tensor::RealModeScope real;
  Ref module = import_module("magneto.backends.safety");
  return module ? PyObject_CallMethod(module, "judge_of", "O", callee)
                : nullptr;
}

// An operator object (torch.ops.aten.add.Tensor, or without the overload): in
// the graph as it is.
Outcome<V> call_operator(Context& ctx, const Arguments& args) {
  PyObject* self = guarded_object(ctx, ctx.look(args.positional[0]));
  if (!self)
    return ctx.graph_break("native-call", "an operator made while tracing");
  Ref judge = Ref::steal(judge_of(self));
  if (!judge) return ctx.raise_from_python();
  if (judge.get() == Py_None)
    return values::record_function(ctx, self, without(args, 1));
  MG_TRY(V result,
         values::record_function_as(ctx, self, judge.get(), without(args, 1)));
  Ref refusal = Ref::steal(PyObject_GetAttrString(judge, "refusal"));
  const char* text = refusal && PyUnicode_Check(refusal.get())
                         ? PyUnicode_AsUTF8(refusal)
                         : nullptr;
  if (!text) {
    PyErr_Clear();
    return result;
  }
  return ctx.graph_break(
      "disabled-function", text,
      "torch._dynamo.config.only_allow_pt2_compliant_ops asks for that");
}

// -- annotations of a profile: nothing to see in a graph ----------------------

// While it is entered, its own flag says that there is nothing to leave, in
// case plain Python leaves it.
Outcome<V> enter_annotation(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  if (self->object)
    return ctx.graph_break("torch-state", "a record_function made elsewhere",
                           "make it inside of the compiled function");
  MG_DO(values::set_attribute(ctx, self, name<"run_callbacks_on_exit">(),
                              ctx.boolean(false)));
  return self;
}

Outcome<V> exit_annotation(Context& ctx, const Arguments& args) {
  PyObject* const flag = name<"run_callbacks_on_exit">();
  V self = ctx.look(args.positional[0]);
  MG_TRY(V runs, values::get_attribute(ctx, self, flag));
  if (values::as_constant(ctx, runs) != Py_False)
    return ctx.graph_break("torch-state",
                           "a record_function that was entered elsewhere is "
                           "left here");
  MG_DO(values::set_attribute(ctx, self, flag, ctx.boolean(true)));
  return ctx.none();
}

#define MG_ALWAYS(module, function, answer) \
  { module, function, answer }
#define MG_REAL(module, function) \
  { module, function, call_real<module "." function> }

// torch._C._nn._parse_to(...), what Module.to() is asked for: a tensor stands
// for its device and its dtype.
Outcome<V> parse_conversion(Context& ctx, const Arguments& args) {
  static PyObject* const real = find_object("torch._C._nn._parse_to");
  std::vector<V> positional(args.positional.begin(), args.positional.end());
  if (!positional.empty()) {
    V tensor = ctx.look(positional[0]);
    if (tensor->kind == Kind::Tensor) {
      MG_TRY(positional[0], get_attribute(ctx, tensor, name<"device">()));
      MG_TRY(V dtype, get_attribute(ctx, tensor, name<"dtype">()));
      positional.insert(positional.begin() + 1, dtype);
    }
  }
  Ref parts;
  MG_TRY(bool called, call_really(ctx, real,
                                  {.positional = positional,
                                   .keyword_values = args.keyword_values,
                                   .keyword_names = args.keyword_names},
                                  parts, examined_object));
  if (called) return from_constant(ctx, std::move(parts));
  return ctx.graph_break("native-call", "Module.to() of unknowns",
                         "move the module outside of the compiled function");
}

constexpr Row kRows[] = {
    {"torch._C._nn", "_parse_to", parse_conversion, 0, kAny, "*"},
    // What is going on.
    {"torch.compiler", "is_compiling", is_compiling, 0, 0, nullptr},
    MG_ALWAYS("torch.compiler", "is_dynamo_compiling", yes),
    MG_ALWAYS("torch.compiler", "is_exporting", no),
    MG_ALWAYS("torch._dynamo.external_utils", "is_compiling", yes),
    MG_ALWAYS("torch._dynamo.eval_frame", "_is_in_optimized_module", yes),
    MG_ALWAYS("torch._utils", "is_compiling", yes),
    MG_ALWAYS("torch._jit_internal", "is_scripting", no),
    MG_ALWAYS("torch.jit._trace", "is_tracing", no),
    // While a mode is on, nothing is traced.
    MG_ALWAYS("torch._C", "_len_torch_dispatch_stack", zero),
    MG_ALWAYS("torch._C", "_is_tracing", no),
    MG_ALWAYS("torch._C", "_get_tracing_state", nothing),
    MG_ALWAYS("torch.onnx", "is_in_onnx_export", no),
    MG_ALWAYS("torch.fx._symbolic_trace", "is_fx_tracing", no),
    MG_ALWAYS("torch.fx._symbolic_trace", "is_fx_symbolic_tracing", no),
    MG_ALWAYS("torch._C", "_log_api_usage_once", nothing),

    {"torch", "is_tensor", is_tensor, 1, 1, nullptr},
    {"torch._C", "_has_torch_function", has_torch_function, 1, 1, nullptr},
    {"torch._C", "_has_torch_function_unary", has_torch_function_variadic, 1, 1,
     nullptr},
    {"torch._C", "_has_torch_function_variadic", has_torch_function_variadic},
    {"torch.jit", "annotate", second, 2, 2, nullptr},
    {"torch.jit", "_unwrap_optional", first, 1, 1, nullptr},

    MG_REAL("torch.functional", "broadcast_shapes"),

    {"torch.autograd.profiler", "record_function.__enter__", enter_annotation,
     1, 1, nullptr},
    {"torch.autograd.profiler", "record_function.__exit__", exit_annotation, 4,
     4, nullptr},

    {"torch._ops", "OpOverload.__call__", call_operator, 1, kAny, "*"},
    {"torch._ops", "OpOverloadPacket.__call__", call_operator, 1, kAny, "*"},

    row::breaks("torch.autograd", "grad"),
    row::breaks("torch.autograd", "backward"),
};

}  // namespace

std::span<const Row> torch_query_rows() { return kRows; }

}  // namespace magneto::natives
