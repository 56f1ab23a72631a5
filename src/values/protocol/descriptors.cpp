// SPDX-License-Identifier: BSD-3-Clause
// What a descriptor in a class gives for an object: methods, properties, slots,
// fields of C's, and those that the program defines.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structmember.h>

#include "python/bind.h"
#include "python/find.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "values/protocol/attributes.h"
#include "values/types/exceptions.h"
#include "values/types/functions.h"

namespace magneto::values {

bool is_declared_slot(PyObject* descriptor) {
  if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return false;
  const PyMemberDef* member =
      reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  return member->type == T_OBJECT_EX &&
         (reinterpret_cast<PyDescrObject*>(descriptor)->d_type->tp_flags &
          Py_TPFLAGS_HEAPTYPE);
}

bool gives_values(Context& ctx, PyObject* attribute) {
  (void)type_lookup(ctx, Py_TYPE(attribute), interned().dunder_get);
  return Py_TYPE(attribute)->tp_descr_get != nullptr;
}

bool takes_values(Context& ctx, PyObject* attribute) {
  (void)type_lookup(ctx, Py_TYPE(attribute), interned().dunder_set);
  (void)type_lookup(ctx, Py_TYPE(attribute), interned().dunder_delete);
  return is_data_descriptor(attribute);
}

namespace {

Outcome<V> get_slot_member(Context& ctx, PyObject* descriptor, V object,
                           PyObject* name) {
  if (object->is_constant() && !object->heap.valid()) {
    const auto reading = guards::read_slot_member(object->object, descriptor);
    if (!reading.is_present()) return attribute_error(ctx, object, name);
    // What a pure function made belongs to nobody else: nothing to guard.
    if (!object->source.valid())
      return from_constant(ctx, Ref::share(reading.value()));
    SourceId source = ctx.sources.slot_member(object->source, descriptor);
    ctx.guards.present(source);
    return ctx.lazy(reading.value(), source);
  }
  V mapping = attribute_mapping(ctx, object);
  if (mapping) {
    MG_TRY(V value, dict_get(ctx, mapping, ctx.constant_share(name)));
    if (value) return value;
  }
  return attribute_error(ctx, object, name);
}

// A field of a structseq (torch.return_types.max): a member at the place of an
// item of the tuple.
Outcome<V> named_item(Context& ctx, PyObject* descriptor, V object,
                      PyObject* name) {
  const PyMemberDef* member =
      reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  auto items = tuple_items(object);
  const auto first = static_cast<Py_ssize_t>(offsetof(PyTupleObject, ob_item));
  const auto at =
      static_cast<size_t>(member->offset - first) / sizeof(PyObject*);
  if (member->offset < first) return attribute_error(ctx, object, name);
  if (at < items.size()) return items[at];
  // os.stat_result has fields that are no items.
  return ctx.graph_break("c-attribute",
                         std::string(object->type->tp_name) + "." +
                             member->name + ", which is no item of it",
                         "read it outside of the compiled function");
}

// Whether __slots__ of the class, or of one that it inherits from, names any.
bool has_slots(PyTypeObject* type) {
  for (; type; type = type->tp_base) {
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    PyObject* names = reinterpret_cast<PyHeapTypeObject*>(type)->ht_slots;
    if (names && PyTuple_GET_SIZE(names) > 0) return true;
  }
  return false;
}

Outcome<V> bind_getset(Context& ctx, PyObject* descriptor, V object,
                       PyObject* name) {
  const Names& names = interned();
  if (name == names.dunder_class) return class_value(ctx, object->type);
  if (name == names.dunder_dict) {
    // What is kept of it has the slots among the attributes.
    if (has_slots(object->type) && object->heap.valid())
      return ctx.graph_break("c-attribute",
                             std::string("__dict__ of a ") +
                                 object->type->tp_name + ", which has slots",
                             "read it outside of the compiled function");
    // Its state tells from then on that it has one.
    if (is_exception_type(object->type) && !has_dictionary(ctx, object))
      return ctx.graph_break("c-attribute",
                             "__dict__ of an exception without attributes",
                             "read it outside of the compiled function");
    V mapping = attribute_mapping(ctx, object);
    if (mapping) return mapping;
    if (V namespace_dict = ctx.constant_namespace(object))
      return namespace_dict;
    if (object->is_constant() && python::has_dictionary(object->type))
      return ctx.graph_break(
          "c-attribute", std::string("__dict__ of a ") + object->type->tp_name,
          "read it outside of the compiled function");
    return attribute_error(ctx, object, name);
  }
  if (object->is_constant()) {
    if (name == names.dunder_globals && PyFunction_Check(object->object)) {
      PyObject* globals = PyFunction_GetGlobals(object->object);
      ctx.sources.found_at(
          globals, ctx.sources.field(ctx.sources.constant(object->object),
                                     guards::SourceKind::FunctionGlobals));
      return ctx.known(globals);
    }
    if (name == names.dunder_code && PyFunction_Check(object->object))
      return ctx.lazy(PyFunction_GetCode(object->object),
                      ctx.sources.field(ctx.sources.constant(object->object),
                                        guards::SourceKind::FunctionCode));
    if (name == names.dunder_closure && PyFunction_Check(object->object)) {
      PyObject* closure = PyFunction_GetClosure(object->object);
      if (!closure) return ctx.none();
      return ctx.known(closure,
                       ctx.sources.field(ctx.sources.constant(object->object),
                                         guards::SourceKind::FunctionClosure));
    }
    if (PyFunction_Check(object->object) &&
        attribute_name(name) == "__builtins__") {
      PyObject* builtins =
          reinterpret_cast<PyFunctionObject*>(object->object)->func_builtins;
      return ctx.known(builtins);
    }
    if (name == names.dunder_annotations && PyModule_Check(object->object))
      return annotations_are_made(ctx);
    // The one field of a property that can be written to.
    if (name == names.dunder_doc && is_instance_of(object, &PyProperty_Type))
      return ctx.graph_break("c-attribute", "__doc__ of a property",
                             "read it outside of the compiled function");
    V field = field_of_constant(ctx, object, name);
    return field ? Outcome<V>(field) : read_real(ctx, object->object, name);
  }
  if (object->kind == Kind::Function) {
    const auto* function = as<FunctionValue>(object);
    if (name == names.dunder_code)
      return ctx.constant_share(reinterpret_cast<PyObject*>(function->code));
    if (size_t field = function_field(name); field < kFunctionFields)
      return get_function_field(ctx, object, static_cast<FunctionField>(field));
    if (name == names.dunder_globals) return ctx.known(function->globals);
    if (name == names.dunder_closure)
      return function->closure.empty() ? ctx.none()
                                       : ctx.tuple(function->closure);
  }
  if (object->kind == Kind::Slice) {
    auto items = tuple_items(object);
    std::string which = attribute_name(name);
    return items[which == "start" ? 0 : which == "stop" ? 1 : 2];
  }
  if (ctx.natives->has(descriptor)) {
    V receiver[] = {object};
    return ctx.natives->call(ctx, ctx.constant_share(descriptor),
                             {.positional = receiver});
  }
  return ctx.graph_break(
      "c-attribute",
      std::string(object->type->tp_name) + "." + attribute_name(name),
      "read it outside of the compiled function");
}

}  // namespace

Outcome<V> bind_property(Context& ctx, PyObject* descriptor, V object,
                         PyTypeObject* type, PyObject* name) {
  if (!object) return class_attribute(ctx, type, name, descriptor);
  // What somebody holds in the hand, its class needn't have.
  if (object->is_constant() && is_safe_type(object->type) &&
      python::mro_lookup(object->type, name) == descriptor) {
    Ref value = Ref::steal(PyObject_GetAttr(object->object, name));
    if (!value) return ctx.raise_from_python();
    return from_constant(ctx, std::move(value));
  }
  Ref getter = Ref::steal(PyObject_GetAttr(descriptor, interned().fget));
  if (!getter) return ctx.raise_from_python();
  if (getter.get() == Py_None)
    return ctx.graph_break("descriptor", "a property without a getter");
  return call(ctx, ctx.known(std::move(getter)), {object});
}

V function_of_class_member(Context& ctx, PyObject* descriptor) {
  Ref function =
      Ref::steal(PyObject_GenericGetAttr(descriptor, interned().dunder_func));
  MG_CHECK(function, "what a static method or a class method is made of");
  return ctx.known(std::move(function));
}

Outcome<V> bind_class_member(Context& ctx, PyObject* descriptor,
                             PyTypeObject* type, PyObject* name) {
  V function = function_of_class_member(ctx, descriptor);
  if (PyType_IsSubtype(Py_TYPE(descriptor), &PyStaticMethod_Type))
    return function;
  PyObject* real = function->object;
  if (!PyFunction_Check(real) && gives_values(ctx, real))
    return bind_descriptor(ctx, real, class_value(ctx, type), type, name);
  return ctx.method(function, class_value(ctx, type));
}

Status expect_instance(Context& ctx, PyObject* descriptor, V object) {
  if (PyType_IsSubtype(object->type, PyDescr_TYPE(descriptor))) return done;
  return ctx.raise(PyExc_TypeError,
                   "descriptor '" + attribute_name(PyDescr_NAME(descriptor)) +
                       "' for '" + PyDescr_TYPE(descriptor)->tp_name +
                       "' objects doesn't apply to a '" +
                       object->type->tp_name + "' object");
}

Outcome<V> bind_descriptor(Context& ctx, PyObject* descriptor, V object,
                           PyTypeObject* type, PyObject* name,
                           PyTypeObject* owner) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  const bool bound = object != nullptr;
  if (!gives_values(ctx, descriptor))
    return class_attribute(ctx, type, name, descriptor);
  if (kind == &PyFunction_Type || kind == &PyMethodDescr_Type ||
      kind == &PyWrapperDescr_Type) {
    V function = class_attribute(ctx, type, name, descriptor);
    return bound ? ctx.method(function, object) : function;
  }
  const auto binds_as = [&](PyTypeObject* base) {
    return PyType_IsSubtype(kind, base) &&
           !own_special(ctx, kind, interned().dunder_get);
  };
  if (binds_as(&PyStaticMethod_Type) || binds_as(&PyClassMethod_Type))
    return bind_class_member(ctx, descriptor, owner ? owner : type, name);
  if (kind == &PyClassMethodDescr_Type) {
    // A constant would keep a class of the program's alive.
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
      return ctx.method(ctx.constant_share(descriptor), class_value(ctx, type));
    Ref method =
        python::bind_in_c(descriptor, reinterpret_cast<PyObject*>(type));
    if (!method) return ctx.raise_from_python();
    return ctx.constant(std::move(method));
  }
  if (binds_as(&PyProperty_Type))
    return bind_property(ctx, descriptor, object, type, name);
  const bool is_of_c =
      kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type;
  if (is_of_c && bound) MG_DO(expect_instance(ctx, descriptor, object));
  if (kind == &PyMemberDescr_Type) {
    if (!bound) return ctx.constant_share(descriptor);
    if (is_declared_slot(descriptor))
      return get_slot_member(ctx, descriptor, object, name);
    if (object->kind == Kind::Tuple)
      return named_item(ctx, descriptor, object, name);
    return bind_getset(ctx, descriptor, object, name);
  }
  if (kind == &PyGetSetDescr_Type) {
    if (!bound) return ctx.constant_share(descriptor);
    return bind_getset(ctx, descriptor, object, name);
  }
  // A method of pybind11's, or of Cython's.
  if ((kind == &PyInstanceMethod_Type || is_cython_function(kind)) &&
      ctx.natives->has(descriptor)) {
    V function = ctx.constant_share(descriptor);
    return bound ? ctx.method(function, object) : function;
  }
  // A builtin function is not a descriptor that binds.
  if (kind == &PyCFunction_Type) return ctx.constant_share(descriptor);
  // A user's descriptor: its class says __get__.
  PyObject* getter = type_lookup(ctx, kind, interned().dunder_get);
  if (getter &&
      (Py_IS_TYPE(getter, &PyFunction_Type) || ctx.natives->has(getter))) {
    V self = class_attribute(ctx, type, name, descriptor);
    return call(ctx, ctx.known(getter),
                {self, bound ? object : ctx.none(),
                 class_value(ctx, owner ? owner : type)});
  }
  return ctx.graph_break(
      "descriptor", std::string(kind->tp_name) + " in class " + type->tp_name +
                        ", attribute " + attribute_name(name));
}

}  // namespace magneto::values
