// SPDX-License-Identifier: BSD-3-Clause
// nn.Module, fast where it is used most: calls of modules without hooks, and
// attributes that are parameters, buffers or submodules. All else of it is
// Python that is traced like any other.
#include <utility>

#include "natives/torch/rows.h"
#include "python/code_object.h"
#include "python/names.h"
#include "python/types.h"
#include "support/check.h"
#include "values/torch/torch_types.h"

namespace magneto::natives {

namespace {

using guards::Reading;
using guards::SourceId;
using guards::SourceKind;
using values::PassingFrame;

// "L['self'].layers.0" for L['self']._modules['layers']._modules['0'].
std::string module_path(const guards::SourceTable& sources, SourceId id) {
  const guards::Source& step = sources[id];
  if (step.kind == SourceKind::DictItem && PyUnicode_Check(step.object)) {
    const guards::Source& mapping = sources[step.base];
    if (mapping.kind == SourceKind::InstanceAttr &&
        mapping.object == name<"_modules">())
      return module_path(sources, mapping.base) + "." +
             PyUnicode_AsUTF8(step.object);
  }
  return sources.torch_name(id);
}

// Whether the frame that is traced is itself a module's __call__: everything in
// the graph is that module's then, and its scope would say nothing.
bool is_traced_call(Context& ctx) {
  const graph::LocationId id = ctx.inliner->origin().location;
  if (!id.valid()) return false;
  const graph::Location& location = ctx.graph().locations()[id.index];
  PyObject* call = values::torch_types().module_call;
  return !location.caller.valid() &&
         location.code.get() ==
             reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(call));
}

// The scope of what a module's forward records.
class ModuleScope {
 public:
  ModuleScope(Context& ctx, V module) : ctx_(ctx), outer_(ctx.scope) {
    if (!module->source.valid()) return;
    if (!outer_.valid() && is_traced_call(ctx)) return;
    ctx.scope = ctx.graph().scope(module->object,
                                  module_path(ctx.sources, module->source),
                                  module->type, outer_);
  }
  ~ModuleScope() { ctx_.scope = outer_; }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  Context& ctx_;
  graph::ScopeId outer_;
};

// Whether a dictionary of hooks is empty. Where the trace has not touched it,
// that is read off the real object, and guarded as a length.
Outcome<bool> is_empty(Context& ctx, V module, PyObject* attribute) {
  const HeapId attributes = ctx.heap[module->heap].attributes;
  const bool touched =
      attributes.valid() && ctx.heap.find(attributes, attribute) >= 0;
  if (module->object && module->source.valid() && !touched) {
    Reading reading = guards::read_instance_attr(module->object, attribute);
    PyObject* hooks = reading.value();
    if (hooks && PyDict_Check(hooks)) {
      if (PyDict_GET_SIZE(hooks) != 0) return false;
      ctx.guards.length(ctx.sources.instance_attr(module->source, attribute),
                        0);
      return true;
    }
  }
  MG_TRY(V hooks, values::get_attribute(ctx, module, attribute));
  MG_TRY(bool some, values::truth(ctx, hooks));
  return !some;
}

// The same of a dictionary of hooks for all modules.
bool is_empty_global(Context& ctx, PyObject* variable) {
  PyObject* module = torch_objects().module_module;
  PyObject* hooks = PyDict_GetItemWithError(PyModule_GetDict(module), variable);
  if (!hooks || !PyDict_Check(hooks) || PyDict_GET_SIZE(hooks) != 0)
    return false;
  ctx.guards.length(
      ctx.sources.instance_attr(ctx.sources.constant(module), variable), 0);
  return true;
}

Outcome<bool> has_hooks(Context& ctx, V module) {
  for (PyObject* variable :
       {name<"_global_backward_pre_hooks">(), name<"_global_backward_hooks">(),
        name<"_global_forward_hooks">(), name<"_global_forward_pre_hooks">()})
    if (!is_empty_global(ctx, variable)) return true;
  for (PyObject* attribute :
       {name<"_backward_hooks">(), name<"_backward_pre_hooks">(),
        name<"_forward_hooks">(), name<"_forward_pre_hooks">()}) {
    MG_TRY(bool empty, is_empty(ctx, module, attribute));
    if (!empty) return true;
  }
  return false;
}

// The instruction of a function of Module's that calls with all arguments and
// returns what it gets; the first or the last such one.
PassingFrame passing(PyObject* function, bool last) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  const bytecode::Code& instructions = python::decoded(code);
  PassingFrame found{code, PyFunction_GET_GLOBALS(function), -1};
  for (int32_t i = 0; i + 1 < instructions.size(); ++i) {
    if (instructions[i].op != bytecode::Op::CallFunctionEx ||
        instructions[i + 1].op != bytecode::Op::ReturnValue)
      continue;
    found.index = i;
    if (!last) break;
  }
  MG_CHECK(found.index >= 0, "Module.__call__ calls forward");
  return found;
}

// The frames between the call of a module, or of its _call_impl, and forward.
template <bool kIsImpl>
std::span<const PassingFrame> frames_to_forward() {
  const values::TorchTypes& torch = values::torch_types();
  // What has no hooks comes first in _call_impl.
  static const PassingFrame frames[] = {
      passing(torch.module_call, /*last=*/true),
      passing(torch.module_call_impl, /*last=*/false)};
  return std::span(frames).subspan(kIsImpl ? 1 : 0);
}

// Whether the program calls the module in a way of its own.
bool has_own_call(Context& ctx, V module) {
  PyObject* const called = name<"_call_impl">();
  PyObject* found = values::type_lookup(ctx, module->type, called);
  if (!found || !ctx.natives->has(found)) return true;
  const HeapId attributes = ctx.heap[module->heap].attributes;
  if (attributes.valid() && ctx.heap.find(attributes, called) >= 0) return true;
  if (!module->object || !module->source.valid()) return false;
  if (guards::read_instance_attr(module->object, called).is_present())
    return true;
  ctx.guards.absent(ctx.sources.instance_attr(module->source, called));
  return false;
}

// Module.__call__: straight to forward unless there are hooks. A module that
// was compiled for itself is traced like any other.
template <bool kIsImpl>
Outcome<V> call_module(Context& ctx, const Arguments& args) {
  const bool is_direct = std::exchange(ctx.native_is_direct, false);
  V module = ctx.look(args.positional[0]);
  ModuleScope scope(ctx, module);
  if (module->kind != Kind::Object) {
    return ctx.inliner->inline_function(
        ctx.constant_share(values::torch_types().module_call_impl), args);
  }
  if (!kIsImpl && has_own_call(ctx, module))
    return ctx.inliner->inline_function(
        ctx.constant_share(values::torch_types().module_call), args);
  MG_TRY(bool hooked, has_hooks(ctx, module));
  if (hooked)
    return ctx.inliner->inline_function(
        ctx.constant_share(values::torch_types().module_call_impl), args);
  MG_TRY(V forward, values::get_attribute(ctx, module, name<"forward">()));
  if (is_direct)
    ctx.direct_call = {.is_direct = true,
                       .through = frames_to_forward<kIsImpl>(),
                       .holds_operands = true};
  return values::call(ctx, forward, without(args, 1));
}

// Module.__getattr__: what Python's own look-up did not find.
Outcome<V> module_getattr(Context& ctx, const Arguments& args) {
  V module = ctx.look(args.positional[0]);
  if (ctx.look(args.positional[1])->type != &PyUnicode_Type)
    return ctx.graph_break("native-call",
                           "Module.__getattr__ of what is no name");
  MG_TRY(PyObject * attribute, attribute_name(ctx, args.positional[1]));
  V own = values::attribute_mapping(ctx, module);
  if (own) {
    for (PyObject* kind :
         {name<"_parameters">(), name<"_buffers">(), name<"_modules">()}) {
      V mapping = values::dict_get_string(ctx, own, kind);
      if (!mapping) continue;
      mapping = ctx.look(mapping);
      V found = nullptr;
      const bool is_plain =
          mapping->kind == Kind::Dict &&
          !values::own_special(ctx, mapping->type, name<"__contains__">()) &&
          !values::own_special(ctx, mapping->type, name<"__getitem__">());
      if (is_plain) {
        found = values::dict_get_string(ctx, mapping, attribute);
      } else {
        MG_TRY(bool there,
               values::contains(ctx, mapping, ctx.constant_share(attribute)));
        if (!there) continue;
        MG_TRY(found,
               values::get_item(ctx, mapping, ctx.constant_share(attribute)));
      }
      if (found) return found;
    }
  }
  return ctx.raise(PyExc_AttributeError, std::string("'") +
                                             python::short_name(module->type) +
                                             "' object has no attribute '" +
                                             PyUnicode_AsUTF8(attribute) + "'");
}

// Once torch.compile was used in the process, each new module is noted in a
// table of its own. The artifact's modules may miss there: the notes only say
// which modules torch.compile must not take for constants.
Outcome<V> note_generation(Context& ctx, const Arguments&) {
  return ctx.none();
}

constexpr Row kRows[] = {
    {"torch.nn.modules.module", "Module._wrapped_call_impl", call_module<false>,
     1, kAny, "*"},
    {"torch.nn.modules.module", "Module._call_impl", call_module<true>, 1, kAny,
     "*"},
    {"torch.nn.modules.module", "Module.__getattr__", module_getattr, 2, 2,
     nullptr},
    {"torch._dynamo.mutation_guard", "GenerationTracker.tag.__func__",
     note_generation, 2, 2, nullptr},
};

}  // namespace

std::span<const Row> torch_module_rows() { return kRows; }

}  // namespace magneto::natives
