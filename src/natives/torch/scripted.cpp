// SPDX-License-Identifier: BSD-3-Clause
// Functions of torch.jit.script's: the Python function that one was made of is
// traced, with the arguments that TorchScript makes of the call's by their
// declared types. What it would refuse breaks the graph, so that it does.
#include <string_view>

#include "natives/pure.h"
#include "natives/torch/rows.h"
#include "python/types.h"
#include "values/protocol/operands.h"
#include "values/torch/torch_types.h"

namespace magneto::natives {

namespace {

constexpr const char* kOutside = "call it outside of the compiled function";

// What a method or a field of TorchScript's objects gives, kept alive by the
// trace: C code that has no effect.
PyObject* told(Context& ctx, PyObject* object, const char* method) {
  Ref answer = Ref::steal(PyObject_CallMethod(object, method, nullptr));
  MG_CHECK(answer, std::string("TorchScript tells ") + method);
  return ctx.keep(std::move(answer));
}
PyObject* field(Context& ctx, PyObject* object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object, name));
  MG_CHECK(value, std::string("TorchScript has ") + name);
  return ctx.keep(std::move(value));
}

Signal refused(Context& ctx, V value, std::string_view declared) {
  return ctx.graph_break("native-call",
                         std::string("a ") + python::short_name(value->type) +
                             " for a ScriptFunction's " + std::string(declared),
                         kOutside);
}

// What is passed on as it is for each of the simple types.
bool is_of(std::string_view declared, V value) {
  const values::TorchTypes& torch = values::torch_types();
  PyTypeObject* type = value->type;
  if (declared == "TensorType") return value->kind == Kind::Tensor;
  if (declared == "FloatType") return type == &PyFloat_Type;
  if (declared == "BoolType") return type == &PyBool_Type;
  if (declared == "StringType") return type == &PyUnicode_Type;
  if (declared == "DeviceObjType") return type == torch.device;
  if (declared == "NoneType") return type == Py_TYPE(Py_None);
  if (declared == "NumberType")
    return type == &PyLong_Type || type == &PyFloat_Type ||
           type == &PyBool_Type;
  // A dtype is a number to TorchScript.
  return declared == "IntType" &&
         (type == &PyLong_Type || type == torch.dtype || type == torch.layout ||
          type == torch.memory_format);
}

Outcome<V> as_declared(Context& ctx, PyObject* type, V value);

// Containers are copied.
Outcome<V> items_as_declared(Context& ctx, PyObject* type, V value,
                             bool is_tuple) {
  const bool is_sequence =
      values::is_tuple_like(value) || (!is_tuple && values::is_list(value));
  PyObject* types = is_tuple ? told(ctx, type, "elements") : nullptr;
  PyObject* item_type = is_tuple ? nullptr : told(ctx, type, "getElementType");
  if (!is_sequence) return refused(ctx, value, "list or tuple");
  std::vector<V> items = values::items_of(ctx, value);
  if (is_tuple && PyObject_Size(types) != static_cast<Py_ssize_t>(items.size()))
    return refused(ctx, value, "tuple");
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* each = is_tuple
                         ? PyList_GetItem(types, static_cast<Py_ssize_t>(i))
                         : item_type;
    MG_TRY(items[i], as_declared(ctx, each, items[i]));
  }
  return is_tuple ? ctx.tuple(items) : ctx.list(items);
}

Outcome<V> as_declared(Context& ctx, PyObject* type, V value) {
  value = ctx.look_symbolic(value);
  const std::string declared = PyUnicode_AsUTF8(told(ctx, type, "kind"));
  if (is_of(declared, value)) return value;
  if (declared == "OptionalType")
    return value == ctx.none()
               ? Outcome<V>(value)
               : as_declared(ctx, told(ctx, type, "getElementType"), value);
  if (declared == "ListType" || declared == "TupleType")
    return items_as_declared(ctx, type, value, declared == "TupleType");
  const auto converted = [&](PyTypeObject* wanted) {
    return call(ctx, ctx.constant_share(reinterpret_cast<PyObject*>(wanted)),
                {value});
  };
  const bool is_whole =
      value->type == &PyLong_Type || value->type == &PyBool_Type;
  if (is_whole && declared == "FloatType") return converted(&PyFloat_Type);
  if (is_whole && declared == "IntType") return converted(&PyLong_Type);
  return refused(ctx, value, declared);
}

// The arguments of a call by the declaration of the function: positional ones
// converted, and by name those that were given so, or whose default in Python
// is of another type. Breaks the graph where TorchScript refuses the call.
struct Declared {
  std::vector<V> positional, keyword_values;
  std::vector<PyObject*> keyword_names;
};

Outcome<bool> declare(Context& ctx, PyObject* function, const Arguments& args,
                      Declared& into) {
  PyObject* arguments = field(ctx, field(ctx, function, "schema"), "arguments");
  const Py_ssize_t count = PyList_Size(arguments);
  size_t used = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* declared = PyList_GET_ITEM(arguments, i);
    PyObject* type = field(ctx, declared, "type");
    Ref own = Ref::share(field(ctx, declared, "name"));
    PyUnicode_InternInPlace(own.slot());
    PyObject* name = ctx.keep(std::move(own));
    V given = argument(args, static_cast<size_t>(i), name);
    if (!given) {
      if (told(ctx, declared, "has_default_value") != Py_True) return false;
      PyObject* fallback = field(ctx, declared, "default_value");
      if (!PyFloat_CheckExact(fallback)) continue;
      given = ctx.constant_share(fallback);
    } else {
      ++used;
      MG_TRY(given, as_declared(ctx, type, given));
    }
    if (static_cast<size_t>(i) < args.count()) {
      into.positional.push_back(given);
    } else {
      into.keyword_names.push_back(name);
      into.keyword_values.push_back(given);
    }
  }
  return used == args.count() + args.keyword_names.size();
}

Outcome<V> call_scripted(Context& ctx, const Arguments& args) {
  V function = ctx.look(args.positional[0]);
  MG_TRY(V inside,
         find_attribute(ctx, function, name<"_torchdynamo_inline">()));
  PyObject* real = guarded_object(ctx, function);
  if (!inside || !real)
    return ctx.graph_break("native-call", "a ScriptFunction without its source",
                           kOutside);
  Declared declared;
  MG_TRY(bool fits, declare(ctx, real, without(args, 1), declared));
  if (!fits)
    return ctx.graph_break("native-call",
                           "a ScriptFunction with other arguments than it has",
                           kOutside);
  return call(ctx, inside,
              Arguments{.positional = declared.positional,
                        .keyword_values = declared.keyword_values,
                        .keyword_names = declared.keyword_names});
}

constexpr Row kRows[] = {
    {"torch._C", "ScriptFunction.__call__", call_scripted, 1, kAny, "*"},
};

}  // namespace

std::span<const Row> torch_scripted_rows() { return kRows; }

}  // namespace magneto::natives
