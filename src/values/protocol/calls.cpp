// SPDX-License-Identifier: BSD-3-Clause
// Calls: functions, methods, classes, instances with __call__.
#include <utility>

#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/types.h"
#include "values/model/recursion.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"
#include "values/types/aliases.h"
#include "values/types/definitions.h"
#include "values/types/exception_groups.h"
#include "values/types/exceptions.h"

namespace magneto::values {

namespace {

// A vector that starts with `first`.
std::vector<V> prepend(V first, std::span<const V> rest) {
  std::vector<V> all;
  all.reserve(rest.size() + 1);
  all.push_back(first);
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

Status expect_concrete(Context& ctx, PyTypeObject* type) {
  static PyObject* const name =
      PyUnicode_InternFromString("__abstractmethods__");
  const SourceId own = ctx.sources.type_own_attr(
      ctx.sources.constant(reinterpret_cast<PyObject*>(type)), name);
  PyObject* found = PyDict_GetItemWithError(type->tp_dict, name);
  if (found)
    ctx.guards.identity(own, found);
  else
    ctx.guards.absent(own);
  if (!(type->tp_flags & Py_TPFLAGS_IS_ABSTRACT)) return done;
  Ref methods = Ref::steal(PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(type), "__abstractmethods__"));
  Ref names = Ref::steal(methods ? PySequence_List(methods) : nullptr);
  if (!names || PyList_Sort(names) < 0) return ctx.raise_from_python();
  Ref comma = Ref::steal(PyUnicode_FromString(", "));
  Ref joined = Ref::steal(PyUnicode_Join(comma, names));
  if (!joined) return ctx.raise_from_python();
  return ctx.raise(PyExc_TypeError,
                   std::string("Can't instantiate abstract class ") +
                       type->tp_name + " with abstract method" +
                       (PyList_GET_SIZE(names.get()) > 1 ? "s " : " ") +
                       PyUnicode_AsUTF8(joined));
}

namespace {

// What tp_new written in C does for a class made in Python.
Outcome<V> builtin_new(Context& ctx, PyTypeObject* type, PyObject* found,
                       const Arguments& args) {
  if (is_exception_type(type)) {
    if (is_group_type(type)) return new_group(ctx, type, args.positional);
    if (is_os_error(type) && own_special(ctx, type, interned().dunder_init))
      return new_exception(ctx, type, {});
    if (has_own_fields(type, args.count(), args.has_keywords()))
      return ctx.graph_break(
          "instantiate",
          std::string("an instance of ") + python::short_name(type),
          "make it outside of the compiled function");
    return new_exception(ctx, type, args.positional);
  }
  if (PyType_IsSubtype(type, &PyDict_Type)) return ctx.dict(type);
  if (PyType_IsSubtype(type, &PyList_Type)) return ctx.list({}, type);
  if (PyType_IsSubtype(type, &PySet_Type)) return ctx.set(type);
  if (type->tp_new == PyBaseObject_Type.tp_new) {
    const bool has_arguments = args.count() || args.has_keywords();
    if (has_arguments && !own_special(ctx, type, interned().dunder_init) &&
        type->tp_init == PyBaseObject_Type.tp_init)
      return ctx.raise(PyExc_TypeError,
                       std::string(type->tp_name) + "() takes no arguments");
    MG_DO(expect_concrete(ctx, type));
    return ctx.object(type);
  }
  // tuple.__new__ and others with a row of their own.
  if (found && ctx.natives->has(found)) {
    std::vector<V> positional =
        prepend(ctx.known(reinterpret_cast<PyObject*>(type)), args.positional);
    return ctx.natives->call(ctx, ctx.constant_share(found),
                             {.positional = positional,
                              .keyword_values = args.keyword_values,
                              .keyword_names = args.keyword_names});
  }
  return ctx.graph_break("instantiate",
                         std::string("an instance of ") + type->tp_name,
                         "make it outside of the compiled function");
}

// Whether an enumeration has code of the program's own for values that no
// member has.
bool looks_for_missing(Context& ctx, PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("_missing_");
  PyObject* found = type_lookup(ctx, type, name);
  for (const char* path : {"enum.Enum", "enum.Flag"}) {
    auto* known = reinterpret_cast<PyTypeObject*>(find_object(path));
    if (found == python::mro_lookup(known, name)) return false;
  }
  return true;
}

Outcome<V> call_class(Context& ctx, V class_value, const Arguments& args) {
  PyTypeObject* meta = Py_TYPE(class_value->object);
  if (meta != &PyType_Type) {
    PyTypeObject* enum_meta = torch_types().enum_meta;
    if (PyType_IsSubtype(meta, enum_meta) &&
        type_lookup(ctx, meta, interned().dunder_call) ==
            python::mro_lookup(enum_meta, interned().dunder_call)) {
      auto* type = reinterpret_cast<PyTypeObject*>(class_value->object);
      if (looks_for_missing(ctx, type))
        return ctx.graph_break("native-call",
                               std::string("a call of ") + type->tp_name +
                                   ", which has a _missing_()",
                               "look the member up outside of the compiled "
                               "function");
      // Looking a member up by value: nothing but constants are involved.
      if (args.count() == 1 && !args.has_keywords()) {
        if (PyObject* value = as_constant(ctx, args.positional[0])) {
          Ref member =
              Ref::steal(PyObject_CallOneArg(class_value->object, value));
          if (!member) return ctx.raise_from_python();
          return ctx.constant(std::move(member));
        }
      }
      return ctx.graph_break("instantiate", "an enum made while tracing");
    }
    // typing.TypedDict's is a class: dict.
    if (PyObject* found = own_special(ctx, meta, interned().dunder_call)) {
      MG_TRY(V bound, bind_descriptor(ctx, found, class_value, meta,
                                      interned().dunder_call));
      return call(ctx, bound, args);
    }
  }
  return instantiate(ctx, class_value, args);
}

Outcome<V> call_instance(Context& ctx, V callable, const Arguments& args,
                         const DirectCall& direct) {
  const RecursionScope scope;
  MG_DO(scope.check(ctx, " while calling a Python object"));
  PyObject* object = callable->object;
  if (object && callable->kind == Kind::Object &&
      ctx.natives->is_allowed(object)) {
    ctx.guards.identity(callable->source, object);
    return ctx.natives->call(ctx, callable, args);
  }
  MG_TRY(V method, special_method(ctx, callable, interned().dunder_call));
  if (method) {
    ctx.direct_call = direct;
    ctx.direct_call.holds_operands = true;
    return call(ctx, method, args);
  }
  return ctx.raise(PyExc_TypeError, std::string("'") + callable->type->tp_name +
                                        "' object is not callable");
}

}  // namespace

namespace {

// Whether instances of the class are tuples with names for all items, made of a
// sequence of as many: torch.return_types, and not os.stat_result, which has
// names for more.
bool is_named_sequence(PyTypeObject* type) {
  if (type->tp_base != &PyTuple_Type) return false;
  const auto field = [type](const char* name) {
    return PyDict_GetItemString(type->tp_dict, name);
  };
  PyObject *shown = field("n_sequence_fields"), *all = field("n_fields");
  return shown && all && PyObject_RichCompareBool(shown, all, Py_EQ) == 1;
}

Outcome<V> make_named_sequence(Context& ctx, PyTypeObject* type,
                               const Arguments& args) {
  std::vector<V> items;
  const Outcome<V> begun = iterate(ctx, args.positional[0]);
  MG_TRY(V iterator, iterator_or_error(ctx, begun, [] {
           return "constructor requires a sequence";
         }));
  MG_DO(unpack_to_list(ctx, iterator, items));
  PyObject* wanted = PyDict_GetItemString(type->tp_dict, "n_sequence_fields");
  if (PyLong_AsSize_t(wanted) == items.size()) return ctx.tuple(items, type);
  return ctx.raise(PyExc_TypeError,
                   std::string(type->tp_name) + "() takes a " +
                       std::to_string(PyLong_AsSize_t(wanted)) + "-sequence (" +
                       std::to_string(items.size()) + "-sequence given)");
}

}  // namespace

Outcome<V> instantiate(Context& ctx, V class_value, const Arguments& args) {
  auto* type = reinterpret_cast<PyTypeObject*>(class_value->object);
  if (is_named_sequence(type) && args.count() == 1 && !args.has_keywords())
    return make_named_sequence(ctx, type, args);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !is_exception_type(type))
    return ctx.graph_break("instantiate",
                           std::string("an instance of ") + type->tp_name,
                           "make it outside of the compiled function");
  if (type->tp_flags & Py_TPFLAGS_DISALLOW_INSTANTIATION)
    return ctx.raise(PyExc_TypeError, std::string("cannot create '") +
                                          type->tp_name + "' instances");

  static PyObject* const finalizer = PyUnicode_InternFromString("__del__");
  if (type_lookup(ctx, type, finalizer))
    return ctx.graph_break("instantiate",
                           std::string("an instance of ") +
                               python::short_name(type) +
                               ", which has a __del__",
                           "make it outside of the compiled function");

  PyObject* new_found = type_lookup(ctx, type, interned().dunder_new);
  V made = nullptr;
  const bool has_own_new =
      own_special(ctx, type, interned().dunder_new) != nullptr;
  if (has_own_new) {
    // As type.__call__ reads it, which for a static method is the function.
    MG_TRY(V own, bind_descriptor(ctx, new_found, nullptr, type,
                                  interned().dunder_new));
    std::vector<V> positional = prepend(class_value, args.positional);
    MG_TRY(made, call(ctx, own,
                      {.positional = positional,
                       .keyword_values = args.keyword_values,
                       .keyword_names = args.keyword_names}));
  } else {
    MG_TRY(made, builtin_new(ctx, type, new_found, args));
  }
  made = ctx.look(made);
  if (!PyType_IsSubtype(made->type, type)) return made;

  PyObject* init = type_lookup(ctx, made->type, interned().dunder_init);
  if (init == nullptr) return made;
  const bool has_own_init =
      own_special(ctx, made->type, interned().dunder_init) != nullptr;
  if (has_own_init || ctx.natives->has(init)) {
    // object.__init__ has nothing to do.
    static PyObject* const object_init =
        python::mro_lookup(&PyBaseObject_Type, interned().dunder_init);
    if (init == object_init) return made;
    MG_TRY(V bound, bind_descriptor(ctx, init, made, made->type,
                                    interned().dunder_init));
    MG_TRY(V given, call(ctx, bound, args));
    given = ctx.look(given);
    if (has_own_init && given != ctx.none())
      return ctx.raise(PyExc_TypeError,
                       std::string("__init__() should return None, not '") +
                           given->type->tp_name + "'");
  } else if (!is_exception_type(type) && made->kind != Kind::Tuple) {
    return ctx.graph_break("instantiate",
                           std::string("__init__ of ") + type->tp_name);
  }
  return made;
}

Outcome<V> call(Context& ctx, V callable, const Arguments& args) {
  const DirectCall direct = std::exchange(ctx.direct_call, {});
  callable = ctx.look_function(callable);
  if (values::is_open(callable)) callable = ctx.look(callable);
  switch (callable->kind) {
    case Kind::Function:
      ctx.direct_call = direct;
      return ctx.inliner->inline_function(callable, args);
    case Kind::BoundMethod: {
      const auto* method = as<MethodValue>(callable);
      std::vector<V> positional = prepend(method->self, args.positional);
      ctx.direct_call = direct;
      return call(ctx, method->function,
                  {.positional = positional,
                   .keyword_values = args.keyword_values,
                   .keyword_names = args.keyword_names,
                   .is_bound = true});
    }
    case Kind::Constant: {
      PyObject* object = callable->object;
      if (ctx.deferred_calls.take(ctx, callable, args)) return ctx.none();
      if (ctx.natives->has(object)) {
        ctx.native_is_direct = direct.is_direct;
        return ctx.natives->call(ctx, callable, args);
      }
      if (Py_IS_TYPE(object, &PyFunction_Type)) {
        ctx.direct_call = direct;
        return ctx.inliner->inline_function(callable, args);
      }
      if (PyType_Check(object)) return call_class(ctx, callable, args);
      if (PyObject_TypeCheck(object, &Py_GenericAliasType))
        return call_alias(ctx, callable, args);
      if (Py_TYPE(object)->tp_call == nullptr ||
          (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return call_instance(ctx, callable, args, direct);
      return ctx.natives->call(ctx, callable, args);
    }
    default:
      return call_instance(ctx, callable, args, direct);
  }
}

Outcome<V> call(Context& ctx, V callable, std::initializer_list<V> args) {
  return call(ctx, callable,
              Arguments{.positional = {args.begin(), args.size()}});
}

Outcome<V> call_method(Context& ctx, V object, PyObject* name,
                       std::initializer_list<V> args) {
  MG_TRY(V method, get_attribute(ctx, object, name));
  return call(ctx, method, args);
}

}  // namespace magneto::values
