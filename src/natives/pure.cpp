// SPDX-License-Identifier: BSD-3-Clause
#include "natives/pure.h"

#include "natives/builtins/derived.h"
#include "python/bind.h"
#include "python/held_warnings.h"
#include "python/names.h"
#include "python/ownership.h"
#include "python/pending_error.h"
#include "python/set_items.h"
#include "python/types.h"
#include "values/protocol/attributes.h"
#include "values/torch/torch_types.h"
#include "values/types/aliases.h"
#include "values/types/digits_limit.h"
#include "values/types/numpy_values.h"

namespace magneto::natives {

namespace {

// Whether `is_leaf` holds for an object, or for all that is in it, through
// tuples, lists, dicts, sets and slices.
template <class Leaf>
bool consists_of(PyObject* object, const Leaf& is_leaf) {
  const auto holds = [&](PyObject* item) { return consists_of(item, is_leaf); };
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!holds(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return holds(slice->start) && holds(slice->stop) && holds(slice->step);
  }
  if (PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
      if (!holds(PyList_GET_ITEM(object, i))) return false;
    return true;
  }
  if (PyDict_CheckExact(object)) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &value))
      if (!holds(key) || !holds(value)) return false;
    return true;
  }
  if (PyAnySet_CheckExact(object)) {
    python::SetItems items(object);
    while (PyObject* item = items.next())
      if (!holds(item)) return false;
    return true;
  }
  return is_leaf(object);
}

bool is_of_safe_type(PyObject* object) { return is_safe_type(Py_TYPE(object)); }

}  // namespace

bool is_safe(PyObject* object) { return consists_of(object, is_of_safe_type); }

PyObject* guarded_object(Context& ctx, V value) {
  if (value->object && value->source.valid())
    ctx.guards.identity(value->source, value->object);
  return value->object;
}

PyObject* safe_object(Context& ctx, V value) {
  PyObject* object = as_constant(ctx, value);
  return object && is_safe(object) ? object : nullptr;
}

PyObject* plain_object(Context& ctx, V value) {
  PyObject* object = as_constant(ctx, value);
  const auto is_plain = [&](PyObject* leaf) {
    return is_of_safe_type(leaf) || is_as_plain(ctx, Py_TYPE(leaf));
  };
  return object && consists_of(object, is_plain) ? object : nullptr;
}

PyObject* read_object(Context& ctx, V value) {
  PyObject* object = as_constant(ctx, value);
  const auto is_read = [&](PyObject* leaf) {
    if (is_of_safe_type(leaf) || is_as_plain(ctx, Py_TYPE(leaf))) return true;
    // Where a number is wanted, C code asks a text's class for one.
    return has_characters(leaf) &&
           !type_lookup(ctx, Py_TYPE(leaf), interned().dunder_index);
  };
  if (object && consists_of(object, is_read)) return object;
  return argument_object(ctx, value);
}

PyObject* examined_object(Context& ctx, V value) {
  value = ctx.look(value);
  if (value->kind == Kind::BoundMethod) {
    const auto* method = as<MethodValue>(value);
    V function = ctx.look(method->function);
    V self = ctx.look(method->self);
    if (!function->is_constant() || !self->object) return nullptr;
    Ref bound = value->type == &PyMethod_Type
                    ? Ref::steal(PyMethod_New(function->object, self->object))
                    : python::bind_in_c(function->object, self->object);
    MG_CHECK(bound, "out of memory");
    return ctx.keep(std::move(bound));
  }
  return as_constant(ctx, value);
}

PyObject* argument_object(Context& ctx, V value) {
  PyObject* object = examined_object(ctx, value);
  if (!object) return nullptr;
  PyTypeObject* type = Py_TYPE(object);
  if (is_safe_type(type) ||
      PyType_IsSubtype(Py_TYPE(type), torch_types().enum_meta))
    return object;
  while (type && !is_safe_type(type)) type = type->tp_base;
  return type && !is_as_plain(ctx, Py_TYPE(object)) ? nullptr : object;
}

std::string describe(PyObject* callable) {
  if (PyType_Check(callable))
    return reinterpret_cast<PyTypeObject*>(callable)->tp_name;
  Ref name = Ref::steal(PyObject_GetAttrString(callable, "__qualname__"));
  if (!name) PyErr_Clear();
  Ref module = Ref::steal(PyObject_GetAttrString(callable, "__module__"));
  if (!module) PyErr_Clear();
  std::string text = name && PyUnicode_Check(name.get())
                         ? values::attribute_name(name)
                         : std::string("a ") + Py_TYPE(callable)->tp_name;
  if (module && PyUnicode_Check(module.get()) &&
      PyUnicode_CompareWithASCIIString(module, "builtins") != 0)
    text = values::attribute_name(module) + "." + text;
  return text;
}

Outcome<bool> call_really(Context& ctx, PyObject* callable,
                          const Arguments& args, Ref& result,
                          PyObject* (*convert)(Context&, V)) {
  constexpr size_t kFew = 8;
  PyObject* few[kFew];
  std::vector<PyObject*> many;
  const size_t count = args.count() + args.keyword_names.size();
  PyObject** real = few;
  if (count > kFew) {
    many.resize(count);
    real = many.data();
  }
  size_t at = 0;
  for (auto part : {args.positional, args.keyword_values}) {
    for (V value : part) {
      real[at] = convert(ctx, value);
      if (!real[at]) return false;
      values::guard_digits_limit(ctx, real[at++]);
    }
  }
  Ref names = names_of(args);
  const python::HeldWarnings held(python::HeldWarnings::How::Raised);
  result = Ref::steal(PyObject_Vectorcall(callable, real, args.count(), names));
  if (held.any()) {
    PyErr_Clear();
    return ctx.graph_break("native-call", describe(callable) + ", which warns",
                           "call it outside of the compiled function");
  }
  if (!result) {
    if (args.is_bound) name_after_receiver(callable, args.positional[0]->type);
    return values::numpy_error(ctx);
  }
  return true;
}

void name_after_receiver(PyObject* callable, PyTypeObject* type) {
  const bool is_of_class = Py_IS_TYPE(callable, &PyClassMethodDescr_Type);
  if (!(is_of_class || Py_IS_TYPE(callable, &PyMethodDescr_Type)) ||
      !PyErr_ExceptionMatches(PyExc_TypeError))
    return;
  python::PendingError error = python::PendingError::take();
  const Ref text = Ref::steal(PyObject_Str(error.object()));
  const Ref unbound =
      Ref::steal(PyObject_GetAttrString(callable, "__qualname__"));
  const Ref owner = Ref::steal(PyType_GetQualName(type));
  if (text && unbound && owner) {
    std::string message = values::attribute_name(text);
    const std::string name = values::attribute_name(unbound) + "()";
    if (message.starts_with(name)) {
      // Of methods that take a tuple of arguments, the name alone; and of
      // those of modules.
      constexpr int kKinds = METH_VARARGS | METH_KEYWORDS;
      const int flags =
          reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_flags;
      const size_t dot = name.rfind('.');
      if (PyType_IsSubtype(type, &PyModule_Type) ||
          ((flags & kKinds) == METH_VARARGS &&
           message == name + " takes no keyword arguments"))
        message.erase(0, dot + 1);
      else
        message.replace(0, dot, values::attribute_name(owner));
      PyErr_SetString(PyExc_TypeError, message.c_str());
      return;
    }
  }
  PyErr_Clear();
  std::move(error).restore();
}

Outcome<V> lift(Context& ctx, Ref object) {
  if (is_safe(object) || values::is_alias(object))
    return from_constant(ctx, std::move(object));
  PyObject* real = object.get();
  // Also the named tuples that inspect gives, with lists in them.
  const bool is_tuple = PyTuple_Check(real);
  if (PyList_CheckExact(real) || is_tuple) {
    Ref items = Ref::steal(PySequence_Tuple(real));
    MG_CHECK(items, "out of memory");
    std::vector<V> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      MG_TRY(V item, lift(ctx, Ref::share(PyTuple_GET_ITEM(items.get(), i))));
      values.push_back(item);
    }
    return is_tuple ? ctx.tuple(values, Py_TYPE(real)) : ctx.list(values);
  }
  if (PyDict_CheckExact(real)) {
    V made = ctx.dict();
    PyObject *key = nullptr, *item = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(real, &position, &key, &item)) {
      MG_TRY(V value, lift(ctx, Ref::share(item)));
      MG_DO(values::dict_set(ctx, made, ctx.constant_share(key), value));
    }
    return made;
  }
  // An artifact refers to constants weakly where that is possible: a fresh
  // object that nobody else keeps would be gone.
  if (python::is_held_only_here(real) &&
      PyType_SUPPORTS_WEAKREFS(Py_TYPE(real)))
    return ctx.graph_break("native-call",
                           std::string("a ") +
                               python::short_name(Py_TYPE(real)) +
                               " made while tracing",
                           "make it outside of the compiled function");
  return ctx.known(std::move(object));
}

}  // namespace magneto::natives
