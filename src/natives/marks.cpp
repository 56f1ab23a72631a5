// SPDX-License-Identifier: BSD-3-Clause
// Marks are attributes of the function, or its id in a set of torch._dynamo's,
// which is looked at only once somebody has imported that.
#include "natives/marks.h"

#include <algorithm>
#include <utility>

#include "natives/pure.h"
#include "python/find.h"
#include "python/frame.h"
#include "tensor/fake_tensor.h"
#include "values/model/recursion.h"
#include "values/torch/torch_types.h"
#include "values/types/frozen_dataclasses.h"

namespace magneto::natives {

namespace {

PyObject* interned_name(const char* text) {
  PyObject* name = PyUnicode_InternFromString(text);
  MG_CHECK(name, "out of memory");
  return name;
}

PyObject* disabled_mark() {
  static PyObject* const name = interned_name("_torchdynamo_disable");
  return name;
}

PyObject* constant_mark() {
  static PyObject* const name = interned_name("_dynamo_marked_constant");
  return name;
}

bool has_attribute_mark(PyObject* function, PyObject* name) {
  PyObject* dict = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  return dict && PyDict_GetItemWithError(dict, name) == Py_True;
}

// A set of ids in torch._dynamo.trace_rules, which is there once something was
// marked. Kept from then on: marks change it in place.
class IdSet {
 public:
  explicit IdSet(const char* holder) : holder_(holder) {}

  bool has(PyObject* callable) {
    if (!set_) find();
    if (!set_ || PySet_GET_SIZE(set_.get()) == 0) return false;
    Ref id = Ref::steal(PyLong_FromVoidPtr(callable));
    const int found = id ? PySet_Contains(set_, id) : -1;
    if (found < 0) PyErr_Clear();
    return found > 0;
  }

 private:
  void find() {
    static PyObject* const name = interned_name("torch._dynamo.trace_rules");
    PyObject* module = loaded_module(name);
    if (!module || !PyModule_Check(module)) return;
    PyObject* holder = PyDict_GetItemString(PyModule_GetDict(module), holder_);
    if (!holder) return;
    Ref set = Ref::steal(PyObject_GetAttrString(holder, "function_ids"));
    if (set && PySet_CheckExact(set.get())) set_ = std::move(set);
    PyErr_Clear();
  }

  const char* holder_;
  Ref set_;
};

// Live as long as the process.
struct IdSets {
  IdSet allowed{"_allowed_callable_ids"};
  IdSet disallowed{"_disallowed_callable_ids"};
};

IdSets& id_sets() {
  static IdSets* const sets = new IdSets;
  return *sets;
}

std::string name_of(PyObject* callable) {
  Ref name = Ref::steal(PyObject_GetAttrString(callable, "__qualname__"));
  const char* text =
      name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : Py_TYPE(callable)->tp_name;
}

// torch._dynamo.graph_break, which is marked as what it asks for.
bool is_graph_break(PyObject* callable) {
  return module_of_function(callable) == "torch._dynamo.decorators" &&
         name_of(callable) == "graph_break";
}

Outcome<bool> takes_tensor(Context& ctx, const Arguments& args) {
  for (const auto values : {args.positional, args.keyword_values}) {
    for (V value : values) {
      if (values::contains_tensor(ctx, value)) return true;
      MG_TRY(bool is_inside, values::is_frozen_with_tensors(ctx, value));
      if (is_inside) return true;
    }
  }
  return false;
}

// Whether a result is all of tensors, plain data and containers: any other
// object may hold the fakes that its maker has met.
bool is_plain_result(Context& ctx, V value) {
  const values::RecursionScope scope;
  if (!scope.has_room()) return false;
  const auto is_plain = [&](V item) { return is_plain_result(ctx, item); };
  value = ctx.look_open(value);
  switch (value->kind) {
    case Kind::Constant:
      return is_safe(value->object) || PyType_Check(value->object) ||
             PyType_IsSubtype(Py_TYPE(value->type),
                              values::torch_types().enum_meta);
    case Kind::Tuple:
      return std::ranges::all_of(tuple_items(value), is_plain);
    case Kind::List:
      return std::ranges::all_of(std::vector<V>(ctx.heap.items(value->heap)),
                                 is_plain);
    case Kind::Dict:
      return std::ranges::all_of(
          dict_entries(ctx, value),
          [&](const DictEntry* entry) { return is_plain(entry->value); });
    default:
      return true;
  }
}

// One call in the graph, made on fakes while tracing to know what it gives.
// Without tensors that call is a real one, so it isn't made where nobody asks
// for the result.
Outcome<V> call_in_graph(Context& ctx, PyObject* callable,
                         const Arguments& args) {
  const bool is_direct = std::exchange(ctx.native_is_direct, false);
  MG_TRY(const bool with_tensor, takes_tensor(ctx, args));
  if (with_tensor) {
    MG_TRY(V result, values::record_marked(ctx, callable, args));
    if (is_plain_result(ctx, result)) return result;
    return ctx.graph_break("marked-gives-object",
                           name_of(callable) + " is marked with allow_in_graph",
                           "");
  }
  if (is_direct && ctx.inliner->drops_result())
    return values::record_untried(ctx, callable, args);
  MG_TRY(V result, record_function(ctx, callable, args));
  if (values::contains_tensor(ctx, result)) return result;
  return ctx.graph_break("marked-without-tensors",
                         name_of(callable) + " is marked with allow_in_graph",
                         "");
}

Outcome<V> call_constant(Context& ctx, PyObject* callable,
                         const Arguments& args) {
  tensor::RealModeScope real;
  Ref result;
  MG_TRY(bool called,
         call_really(ctx, callable, args, result, examined_object));
  if (!called)
    return ctx.graph_break(
        "marked-constant",
        name_of(callable) +
            " is marked as giving a constant, and an argument is none",
        "pass numbers, strings and the like");
  return lift(ctx, std::move(result));
}

// torch.compiler.disable(recursive=False): the function's own frame isn't
// compiled, while what it calls is. It is called by a wrapper that has the
// mark.
void leave_own_frame(PyObject* wrapper) {
  static PyObject* const recursive =
      interned_name("_torchdynamo_disable_recursive");
  static PyObject* const original = interned_name("_torchdynamo_orig_callable");
  PyObject* dict = PyFunction_Check(wrapper)
                       ? reinterpret_cast<PyFunctionObject*>(wrapper)->func_dict
                       : nullptr;
  if (!dict || PyDict_GetItemWithError(dict, recursive) != Py_False) return;
  PyObject* function = PyDict_GetItemWithError(dict, original);
  if (function && PyFunction_Check(function))
    python::set_frame_action(
        reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)),
        python::FrameAction::Evaluate);
}

// What torch._dynamo, once it is there, puts a disabled function in the place
// of, since it computes it in its own way; null for anything else.
PyObject* behind_own_mark(PyObject* callable) {
  static PyObject* const name = interned_name("_torchdynamo_orig_callable");
  PyObject* dict =
      PyFunction_Check(callable)
          ? reinterpret_cast<PyFunctionObject*>(callable)->func_dict
          : nullptr;
  PyObject* original = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
  if (!original || !PyFunction_Check(original)) return nullptr;
  const bool is_optimizers =
      module_of_function(original).starts_with("torch.optim.") &&
      PyUnicode_CompareWithASCIIString(
          reinterpret_cast<PyFunctionObject*>(original)->func_name,
          "_init_group") == 0;
  return is_optimizers ? original : nullptr;
}

// The code that stands in the place of each of torch's own functions that it
// doesn't want compiled (Optimizer.zero_grad).
PyObject* code_of_disabled() {
  static PyObject* const found = []() -> PyObject* {
    PyObject* decorator = find_object("torch._compile._disable_dynamo");
    if (!decorator || !PyFunction_Check(decorator)) return nullptr;
    PyObject* constants =
        reinterpret_cast<PyCodeObject*>(
            reinterpret_cast<PyFunctionObject*>(decorator)->func_code)
            ->co_consts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i)
      if (PyCode_Check(PyTuple_GET_ITEM(constants, i)))
        return PyTuple_GET_ITEM(constants, i);
    return nullptr;
  }();
  return found;
}

}  // namespace

Mark mark_of(PyObject* callable) {
  if (PyFunction_Check(callable)) {
    if (has_attribute_mark(callable, disabled_mark())) return Mark::Disabled;
    if (has_attribute_mark(callable, constant_mark())) return Mark::Constant;
  }
  if (id_sets().allowed.has(callable)) return Mark::InGraph;
  if (id_sets().disallowed.has(callable)) return Mark::Disallowed;
  if (PyFunction_Check(callable) &&
      reinterpret_cast<PyFunctionObject*>(callable)->func_code ==
          code_of_disabled())
    return Mark::DisabledByTorch;
  return Mark::None;
}

void rely_on_no_mark(Context& ctx, guards::SourceId source,
                     PyObject* function) {
  for (PyObject* mark : {disabled_mark(), constant_mark()})
    ctx.guards.absent(ctx.sources.instance_attr(source, mark));
}

Outcome<V> call_marked(Context& ctx, PyObject* callable, Mark mark,
                       const Arguments& args) {
  switch (mark) {
    case Mark::InGraph:
      return call_in_graph(ctx, callable, args);
    case Mark::Constant:
      return call_constant(ctx, callable, args);
    case Mark::Disabled:
    case Mark::DisabledByTorch:
      if (PyObject* original = behind_own_mark(callable))
        return values::call(ctx, ctx.constant_share(original), args);
      leave_own_frame(callable);
      return ctx.graph_break(
          "disabled-function",
          name_of(callable) + " is marked as not to be compiled",
          "remove the call of disable() or move the call out of the compiled "
          "function");
    case Mark::Disallowed:
      if (is_graph_break(callable))
        return ctx.graph_break("asked-for", "torch._dynamo.graph_break()",
                               "remove torch._dynamo.graph_break()");
      return ctx.graph_break(
          "disabled-function",
          name_of(callable) + " is marked with disallow_in_graph", "");
    case Mark::None:
      break;
  }
  MG_CHECK(false, "a callable that has a mark");
}

}  // namespace magneto::natives
