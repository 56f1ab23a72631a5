// SPDX-License-Identifier: BSD-3-Clause
// The methods of object and type themselves, mostly called through super().
#include "natives/signature.h"
#include "python/class_hierarchy.h"
#include "python/hashed_dict.h"
#include "python/names.h"
#include "python/types.h"
#include "values/protocol/operands.h"

namespace magneto::natives {

namespace {

std::string text_of(PyObject* text) {
  const char* chars = PyUnicode_AsUTF8(text);
  if (!chars) PyErr_Clear();
  return chars ? chars : "?";
}

Outcome<V> make_plain(Context& ctx, const Arguments& args) {
  if (args.count() || args.has_keywords())
    return ctx.raise(PyExc_TypeError, "object() takes no arguments");
  return ctx.object(&PyBaseObject_Type);
}

// object.__new__(cls, ...)
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V class_value = ctx.look(args.positional[0]);
  if (!class_value->is_constant() || !PyType_Check(class_value->object))
    return ctx.raise(
        PyExc_TypeError,
        std::string("object.__new__(X): X is not a type object (") +
            class_value->type->tp_name + ")");
  auto* type = reinterpret_cast<PyTypeObject*>(class_value->object);
  if (args.count() > 1 || args.has_keywords()) {
    // As object_new: one of __new__ and __init__ must take the rest.
    if (type->tp_new != PyBaseObject_Type.tp_new)
      return ctx.raise(PyExc_TypeError,
                       "object.__new__() takes exactly one argument (the type "
                       "to instantiate)");
    if (type->tp_init == PyBaseObject_Type.tp_init)
      return ctx.raise(PyExc_TypeError, std::string(python::short_name(type)) +
                                            "() takes no arguments");
  }
  // A class on top of another C class wants that one's __new__.
  for (PyTypeObject* base = type; base; base = base->tp_base) {
    if (base->tp_flags & Py_TPFLAGS_HEAPTYPE) continue;
    if (base != &PyBaseObject_Type)
      return ctx.graph_break(
          "instantiate",
          std::string("object.__new__ of ") + python::short_name(type),
          "make it outside of the compiled function");
    break;
  }
  MG_DO(values::expect_concrete(ctx, type));
  return ctx.object(type);
}

Outcome<V> initialise(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  if (args.count() > 1 || args.has_keywords()) {
    if (self->type->tp_init != PyBaseObject_Type.tp_init)
      return ctx.raise(PyExc_TypeError,
                       "object.__init__() takes exactly one argument (the "
                       "instance to initialize)");
    if (self->type->tp_new == PyBaseObject_Type.tp_new)
      return ctx.raise(PyExc_TypeError,
                       std::string(self->type->tp_name) +
                           ".__init__() takes exactly one argument (the "
                           "instance to initialize)");
  }
  return ctx.none();
}

Outcome<V> get(Context& ctx, const Arguments& args) {
  V object = ctx.look(args.positional[0]);
  MG_TRY(PyObject * key, attribute_name(ctx, args.positional[1]));
  MG_TRY(V value, generic_get(ctx, object, key));
  if (value) return value;
  return ctx.raise(PyExc_AttributeError,
                   std::string("'") + object->type->tp_name +
                       "' object has no attribute '" + text_of(key) + "'");
}

Outcome<V> set(Context& ctx, const Arguments& args) {
  MG_TRY(PyObject * key, attribute_name(ctx, args.positional[1]));
  MG_DO(generic_set(ctx, args.positional[0], key, args.positional[2]));
  return ctx.none();
}

Outcome<V> remove(Context& ctx, const Arguments& args) {
  MG_TRY(PyObject * key, attribute_name(ctx, args.positional[1]));
  MG_DO(generic_set(ctx, args.positional[0], key, nullptr));
  return ctx.none();
}

Outcome<V> equals(Context& ctx, const Arguments& args) {
  MG_TRY(bool same, identical(ctx, args.positional[0], args.positional[1]));
  return same ? ctx.boolean(true) : ctx.constant_share(Py_NotImplemented);
}

// object.__ne__: the opposite of the object's __eq__.
Outcome<V> differs(Context& ctx, const Arguments& args) {
  V object = ctx.look(args.positional[0]);
  // Types in C that hash in their own way inherit no comparison.
  if (!object->type->tp_richcompare)
    return ctx.constant_share(Py_NotImplemented);
  MG_TRY(V method, special_method(ctx, object, name<"__eq__">()));
  MG_CHECK(method, "every object has __eq__");
  MG_TRY(V result, call(ctx, method, {args.positional[1]}));
  if (is_not_implemented(ctx, result)) return result;
  MG_TRY(bool same, truth(ctx, result));
  return ctx.boolean(!same);
}

Outcome<V> hash(Context& ctx, const Arguments& args) {
  V object = ctx.look(args.positional[0]);
  if (!object->object || !object->source.valid())
    return ctx.graph_break("native-call", std::string("the hash of a ") +
                                              object->type->tp_name +
                                              " made while tracing");
  ctx.guards.identity(object->source, object->object);
  return ctx.integer(python::address_hash(object->object));
}

Outcome<V> nothing(Context& ctx, const Arguments&) { return ctx.none(); }

Outcome<V> not_implemented(Context& ctx, const Arguments&) {
  return ctx.constant_share(Py_NotImplemented);
}

// type.__call__(cls, ...)
Outcome<V> call_class(Context& ctx, const Arguments& args) {
  V class_value = ctx.look(args.positional[0]);
  if (ctx.natives->has(class_value->object))
    return call(ctx, class_value, without(args, 1));
  return instantiate(ctx, class_value, without(args, 1));
}

// cls.mro(): a list of classes.
Outcome<V> list_mro(Context& ctx, const Arguments& args) {
  Ref listed = Ref::steal(PyObject_CallMethodNoArgs(
      ctx.look(args.positional[0])->object, name<"mro">()));
  if (!listed) return ctx.raise_from_python();
  return from_constant(ctx, std::move(listed));
}

// cls.__subclasses__(): more may be made at any time, so each is guarded, and
// that there is no other.
Outcome<V> list_subclasses(Context& ctx, const Arguments& args) {
  constexpr size_t kMost = 64;
  auto* type =
      reinterpret_cast<PyTypeObject*>(ctx.look(args.positional[0])->object);
  const guards::SourceId source =
      ctx.sources.constant(reinterpret_cast<PyObject*>(type));
  std::vector<V> classes;
  while (PyObject* found = python::subclass_at(type, classes.size())) {
    if (classes.size() == kMost)
      return ctx.graph_break("native-call",
                             std::string("__subclasses__() of ") +
                                 type->tp_name + ", which has many",
                             "call it outside of the compiled function");
    ctx.guards.identity(ctx.sources.subclass(source, classes.size()), found);
    classes.push_back(ctx.known(found));
  }
  ctx.guards.absent(ctx.sources.subclass(source, classes.size()));
  return ctx.list(classes);
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "object", make_plain},
    {kBuiltins, "object.__new__", make_of_class, 1, kAny, "*"},
    {kBuiltins, "object.__init__", initialise, 1, kAny, "*"},
    {kBuiltins, "object.__getattribute__", get, 2, 2, nullptr},
    {kBuiltins, "object.__setattr__", set, 3, 3, nullptr},
    {kBuiltins, "object.__delattr__", remove, 2, 2, nullptr},
    {kBuiltins, "object.__eq__", equals, 2, 2, nullptr},
    {kBuiltins, "object.__ne__", differs, 2, 2, nullptr},
    {kBuiltins, "object.__lt__", not_implemented, 2, 2, nullptr},
    {kBuiltins, "object.__le__", not_implemented, 2, 2, nullptr},
    {kBuiltins, "object.__gt__", not_implemented, 2, 2, nullptr},
    {kBuiltins, "object.__ge__", not_implemented, 2, 2, nullptr},
    {kBuiltins, "object.__hash__", hash, 1, 1, nullptr},
    {kBuiltins, "object.__init_subclass__", nothing, 1, 1, nullptr},
    {kBuiltins, "object.__subclasshook__", not_implemented, 2, 2, nullptr},
    {kBuiltins, "type.__call__", call_class, 1, kAny, "*"},
    {kBuiltins, "type.mro", list_mro, 1, 1, nullptr},
    {kBuiltins, "type.__subclasses__", list_subclasses, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> object_rows() { return kRows; }

}  // namespace magneto::natives
