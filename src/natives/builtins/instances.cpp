// SPDX-License-Identifier: BSD-3-Clause
// isinstance() and issubclass(): classes, tuples and unions of them, abstract
// base classes, and metaclasses with a hook of their own.
#include "natives/builtins/instances.h"

#include <algorithm>

#include "natives/pure.h"
#include "natives/signature.h"
#include "natives/torch/rows.h"
#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/types.h"
#include "values/model/recursion.h"
#include "values/protocol/operands.h"

namespace magneto::natives {

namespace {

PyTypeObject* union_type() {
  static PyTypeObject* const type = [] {
    Ref made =
        Ref::steal(PyNumber_Or(reinterpret_cast<PyObject*>(&PyLong_Type),
                               reinterpret_cast<PyObject*>(&PyFloat_Type)));
    MG_CHECK(made, "int | float is a union");
    return Py_TYPE(made.get());  // a static type
  }();
  return type;
}

PyObject* abc_hook(PyObject* hook) {
  static PyObject* const abc_meta = [] {
    Ref module = import_module("abc");
    MG_CHECK(module, "the module abc");
    return PyObject_GetAttrString(module, "ABCMeta");
  }();
  return PyDict_GetItemWithError(
      reinterpret_cast<PyTypeObject*>(abc_meta)->tp_dict, hook);
}

Signal wrong_classinfo(Context& ctx, bool instance) {
  return ctx.raise(PyExc_TypeError,
                   instance ? "isinstance() arg 2 must be a type, a tuple of "
                              "types, or a union"
                            : "issubclass() arg 2 must be a class, a tuple of "
                              "classes, or a union");
}

// What the object says that its __class__ is, where that may be another one
// than its class; else null.
Outcome<V> own_class(Context& ctx, V value) {
  PyTypeObject* type = value->type;
  const bool is_proxy = python::is_weak_proxy(type);
  if (value->kind == Kind::Tensor ||
      (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !is_proxy))
    return nullptr;
  PyObject* dunder_class = interned().dunder_class;
  if (type->tp_getattro == PyObject_GenericGetAttr &&
      type_lookup(ctx, type, dunder_class) ==
          python::mro_lookup(&PyBaseObject_Type, dunder_class))
    return nullptr;
  MG_TRY(V said, find_attribute(ctx, value, dunder_class));
  return said ? ctx.look(said) : nullptr;
}

}  // namespace

Outcome<bool> pretends_to_be(Context& ctx, V value, PyTypeObject* wanted) {
  MG_TRY(V said, own_class(ctx, value));
  return said && said->is_constant() && PyType_Check(said->object) &&
         PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(said->object),
                          wanted);
}

namespace {

// Whether a tensor is of a class such as torch.LongTensor, which stands for a
// dtype on a device.
Outcome<bool> is_of_tensor_type(Context& ctx, V value, V tensor_type) {
  if (tensor_type->source.valid())
    ctx.guards.identity(tensor_type->source, tensor_type->object);
  if (value->kind != Kind::Tensor) return false;
  PyObject* fake = fake_of(value);
  for (PyObject* each :
       {name<"dtype">(), name<"layout">(), name<"is_cuda">()}) {
    Ref wanted = Ref::steal(PyObject_GetAttr(tensor_type->object, each));
    Ref is = Ref::steal(wanted ? PyObject_GetAttr(fake, each) : nullptr);
    if (!is) return ctx.raise_from_python();
    if (is.get() != wanted.get()) return false;
  }
  Ref on_cpu = Ref::steal(PyObject_GetAttr(fake, name<"is_cpu">()));
  Ref on_cuda = Ref::steal(PyObject_GetAttr(fake, name<"is_cuda">()));
  if (!on_cpu || !on_cuda) return ctx.raise_from_python();
  return on_cpu.get() == Py_True || on_cuda.get() == Py_True;
}

std::string class_name(PyObject* type) {
  return reinterpret_cast<PyTypeObject*>(type)->tp_name;
}

// Of an abstract class and another one.
bool is_no_subclass(std::span<PyObject* const> classes) noexcept {
  Ref said = Ref::steal(PyObject_CallFunctionObjArgs(
      abc_hook(name<"__subclasscheck__">()), classes[0], classes[1], nullptr));
  const int matches = said ? PyObject_IsTrue(said.get()) : -1;
  PyErr_Clear();
  return matches == 0;
}

// What an abstract class says of a class. That it is no subclass holds until
// somebody registers it.
Outcome<bool> ask_abstract(Context& ctx, PyObject* wanted, PyObject* type) {
  Ref said = Ref::steal(PyObject_CallFunctionObjArgs(
      abc_hook(name<"__subclasscheck__">()), wanted, type, nullptr));
  const int matches = said ? PyObject_IsTrue(said.get()) : -1;
  if (matches < 0) return ctx.raise_from_python();
  PyObject* const classes[] = {wanted, type};
  if (!matches)
    ctx.guards.class_fact(std::make_shared<guards::ClassFact>(
        is_no_subclass, classes,
        class_name(type) + " is no subclass of " + class_name(wanted)));
  return matches != 0;
}

// Whether `type` (of `value`, or `value` itself) is a subclass of `classinfo`.
// `hook` is __instancecheck__ or __subclasscheck__.
Outcome<bool> check(Context& ctx, V value, PyTypeObject* type, V classinfo,
                    PyObject* hook, bool instance) {
  classinfo = ctx.look(classinfo);
  if (classinfo->kind == Kind::Tuple ||
      (classinfo->is_constant() && PyTuple_CheckExact(classinfo->object))) {
    const values::RecursionScope scope;
    MG_DO(scope.check(
        ctx, instance ? " in __instancecheck__" : " in __subclasscheck__"));
    // The items themselves, whatever an __iter__ would give.
    std::vector<V> options;
    if (classinfo->kind == Kind::Tuple) {
      const auto items = values::tuple_items(classinfo);
      options.assign(items.begin(), items.end());
    } else {
      MG_DO(unpack(ctx, classinfo, options));
    }
    for (V option : options) {
      MG_TRY(bool matches, check(ctx, value, type, option, hook, instance));
      if (matches) return true;
    }
    return false;
  }
  if (classinfo->type == union_type()) {
    PyObject* real = guarded_object(ctx, classinfo);
    if (!real) return wrong_classinfo(ctx, instance);
    Ref options = Ref::steal(PyObject_GetAttr(real, name<"__args__">()));
    if (!options) return ctx.raise_from_python();
    return check(ctx, value, type, ctx.constant(std::move(options)), hook,
                 instance);
  }
  if (instance && classinfo->object &&
      Py_IS_TYPE(classinfo->object, torch_objects().tensor_type))
    return is_of_tensor_type(ctx, value, classinfo);
  if (!classinfo->is_constant() || !PyType_Check(classinfo->object)) {
    MG_TRY(V method, special_method(ctx, classinfo, hook));
    if (!method) {
      MG_TRY(V bases, find_attribute(ctx, classinfo, name<"__bases__">()));
      if (!bases || !is_instance_of(ctx.look(bases), &PyTuple_Type))
        return wrong_classinfo(ctx, instance);
      return ctx.graph_break("native-call",
                             "an object with __bases__ that is no class");
    }
    MG_TRY(V result, call(ctx, method, {value}));
    return truth(ctx, result);
  }
  auto* wanted = reinterpret_cast<PyTypeObject*>(classinfo->object);
  // As PyObject_IsInstance: no hook is asked about the very class.
  if (instance && type == wanted) return true;
  PyTypeObject* meta = Py_TYPE(classinfo->object);
  PyObject* found =
      meta == &PyType_Type ? nullptr : type_lookup(ctx, meta, hook);
  if (!found || found == python::mro_lookup(&PyType_Type, hook)) {
    if (PyType_IsSubtype(type, wanted)) return true;
    return instance ? pretends_to_be(ctx, value, wanted) : false;
  }
  // The cache of the abstract class and the hooks that its author wrote for
  // classes, not for objects.
  if (found == abc_hook(hook)) {
    MG_TRY(V said, instance ? own_class(ctx, value) : Outcome<V>(nullptr));
    if (said && said->object != reinterpret_cast<PyObject*>(type)) {
      if (!said->is_constant() || !PyType_Check(said->object))
        return ctx.graph_break("native-call",
                               "isinstance() of what has no class for its "
                               "__class__");
      MG_TRY(bool matches, ask_abstract(ctx, classinfo->object, said->object));
      if (matches) return true;
    }
    return ask_abstract(ctx, classinfo->object,
                        reinterpret_cast<PyObject*>(type));
  }
  MG_TRY(V method, bind_descriptor(ctx, found, classinfo, meta, hook));
  MG_TRY(V result, call(ctx, method, {value}));
  return truth(ctx, result);
}

Outcome<V> is_instance(Context& ctx, const Arguments& args) {
  V value = ctx.look_function(args.positional[0]);
  MG_TRY(bool matches, check(ctx, value, value->type, args.positional[1],
                             name<"__instancecheck__">(), true));
  return ctx.boolean(matches);
}

// A tuple of nothing but such tuples.
bool holds_nothing(Context& ctx, V value) {
  value = ctx.look(value);
  return values::is_instance_of(value, &PyTuple_Type) &&
         std::ranges::all_of(values::items_of(ctx, value),
                             [&](V item) { return holds_nothing(ctx, item); });
}

Outcome<V> is_subclass(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[0]);
  if (!value->is_constant() || !PyType_Check(value->object)) {
    // Anything with bases may take the part of a class.
    MG_TRY(V bases, find_attribute(ctx, value, name<"__bases__">()));
    if (bases)
      return ctx.graph_break("native-call",
                             "issubclass() of an object with __bases__");
    // There is nothing to compare it with.
    if (holds_nothing(ctx, args.positional[1])) return ctx.boolean(false);
    return ctx.raise(PyExc_TypeError, "issubclass() arg 1 must be a class");
  }
  MG_TRY(bool matches,
         check(ctx, value, reinterpret_cast<PyTypeObject*>(value->object),
               args.positional[1], name<"__subclasscheck__">(), false));
  return ctx.boolean(matches);
}

// type.__instancecheck__ and type.__subclasscheck__, through super().
Outcome<V> plain_instance(Context& ctx, const Arguments& args) {
  V wanted = ctx.look(args.positional[0]);
  V value = ctx.look_open(args.positional[1]);
  return ctx.boolean(PyType_IsSubtype(
      value->type, reinterpret_cast<PyTypeObject*>(wanted->object)));
}

Outcome<V> plain_subclass(Context& ctx, const Arguments& args) {
  V wanted = ctx.look(args.positional[0]);
  V value = ctx.look(args.positional[1]);
  if (!value->is_constant() || !PyType_Check(value->object))
    return ctx.raise(PyExc_TypeError, "issubclass() arg 1 must be a class");
  return ctx.boolean(
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(value->object),
                       reinterpret_cast<PyTypeObject*>(wanted->object)));
}

// ABCMeta's own hooks, when a metaclass in between calls them.
Outcome<V> abstract_check(Context& ctx, V wanted, PyObject* type) {
  MG_TRY(bool matches, ask_abstract(ctx, ctx.look(wanted)->object, type));
  return ctx.boolean(matches);
}

Outcome<V> abstract_instance(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[1]);
  return abstract_check(ctx, args.positional[0],
                        reinterpret_cast<PyObject*>(value->type));
}

Outcome<V> abstract_subclass(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[1]);
  if (!value->is_constant() || !PyType_Check(value->object))
    return ctx.raise(PyExc_TypeError, "issubclass() arg 1 must be a class");
  return abstract_check(ctx, args.positional[0], value->object);
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "isinstance", is_instance, 2, 2, nullptr},
    {kBuiltins, "issubclass", is_subclass, 2, 2, nullptr},
    {kBuiltins, "type.__instancecheck__", plain_instance, 2, 2, nullptr},
    {kBuiltins, "type.__subclasscheck__", plain_subclass, 2, 2, nullptr},
    {"abc", "ABCMeta.__instancecheck__", abstract_instance, 2, 2, nullptr},
    {"abc", "ABCMeta.__subclasscheck__", abstract_subclass, 2, 2, nullptr},
};

}  // namespace

std::span<const Row> instance_rows() { return kRows; }

}  // namespace magneto::natives
