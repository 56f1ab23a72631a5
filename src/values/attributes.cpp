// SPDX-License-Identifier: BSD-3-Clause
// Attribute look-up: object.__getattribute__, type.__getattribute__, modules,
// super, descriptors.
#include "values/attributes.h"

#include <structmember.h>

#include <algorithm>
#include <utility>

#include "python/bind.h"
#include "python/class_hierarchy.h"
#include "python/layout.h"
#include "python/names.h"
#include "values/class_attributes.h"
#include "values/definitions.h"
#include "values/exceptions.h"
#include "values/functions.h"

namespace magneto::values {

namespace {

// One that is asked before the instance's own attributes.
bool comes_first(Context& ctx, PyObject* descriptor) {
  return gives_values(ctx, descriptor) && takes_values(ctx, descriptor);
}

SourceId type_source(Context& ctx, PyTypeObject* type) {
  return ctx.sources.constant(reinterpret_cast<PyObject*>(type));
}

V class_value(Context& ctx, PyTypeObject* type) {
  return ctx.known(reinterpret_cast<PyObject*>(type), type_source(ctx, type));
}

// A read of a C-level attribute (getset, member, method of a C type) of a real
// object that runs no Python code.
Outcome<V> read_real(Context& ctx, PyObject* object, PyObject* name) {
  Ref result = Ref::steal(PyObject_GetAttr(object, name));
  if (!result) return ctx.raise_from_python();
  return from_constant(ctx, std::move(result));
}

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
  if (member->offset < first || at >= items.size())
    return attribute_error(ctx, object, name);
  return items[at];
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

// Of a class or a module that has none: CPython gives it an empty dict.
Signal annotations_are_made(Context& ctx) {
  return ctx.graph_break("c-attribute",
                         "__annotations__ that are made when they are read",
                         "read them with typing.get_type_hints()");
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
      return ctx.known(globals, ctx.sources.constant(globals));
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
      return ctx.known(builtins, ctx.sources.constant(builtins));
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
    if (name == names.dunder_globals)
      return ctx.known(function->globals,
                       ctx.sources.constant(function->globals));
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

std::string attribute_name(PyObject* name) {
  const char* chars = PyUnicode_AsUTF8(name);
  if (chars == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return chars;
}

Signal attribute_error(Context& ctx, V object, PyObject* name) {
  std::string whose = std::string("'") + object->type->tp_name + "' object";
  if (object->is_constant() && PyType_Check(object->object))
    whose = std::string("type object '") +
            reinterpret_cast<PyTypeObject*>(object->object)->tp_name + "'";
  if (object->is_constant() && PyModule_Check(object->object)) {
    PyObject* module = PyDict_GetItemWithError(PyModule_GetDict(object->object),
                                               interned().dunder_name);
    if (module && PyUnicode_Check(module))
      whose = "module '" + attribute_name(module) + "'";
  }
  return raise_about_name(
      ctx, PyExc_AttributeError,
      whose + " has no attribute '" + attribute_name(name) + "'", name, object);
}

namespace {

// Which a program may count or measure with.
bool is_number(PyObject* object) {
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object);
}

}  // namespace

V class_attribute(Context& ctx, PyTypeObject* type, PyObject* name,
                  PyObject* object) {
  // What a classmethod wraps isn't itself what the class has there.
  if (_PyType_Lookup(type, name) != object)
    return ctx.known(object, ctx.sources.constant(object));
  const SourceId source = ctx.sources.type_attr(type_source(ctx, type), name);
  return is_number(object) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
             ? ctx.lazy(object, source)
             : ctx.known(object, source);
}

bool is_declared_slot(PyObject* descriptor) {
  if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return false;
  const PyMemberDef* member =
      reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  return member->type == T_OBJECT_EX &&
         (reinterpret_cast<PyDescrObject*>(descriptor)->d_type->tp_flags &
          Py_TPFLAGS_HEAPTYPE);
}

PyObject* type_lookup(Context& ctx, PyTypeObject* type, PyObject* name) {
  if (ctx.has_written_classes && written_attribute(ctx, type, name))
    throw BreakException{
        {"attribute-write", "attribute " + attribute_name(name) + " of class " +
                                type->tp_name + " that was written before"}};
  PyObject* found = _PyType_Lookup(type, name);
  // Classes written in C can't be changed.
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    python::know_class(type);
    ctx.guard_type_attribute(type, name, found);
  }
  return found;
}

PyObject* lookup_attribute(Context& ctx, PyTypeObject* type, PyObject* name) {
  PyObject* found = _PyType_Lookup(type, name);
  if (!found || !is_number(found) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return type_lookup(ctx, type, name);
  python::know_class(type);
  ctx.guards.type_is(ctx.sources.type_attr(type_source(ctx, type), name),
                     Py_TYPE(found));
  return found;
}

PyObject* own_special(Context& ctx, PyTypeObject* type, PyObject* name) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  PyObject* found = type_lookup(ctx, type, name);
  if (!found) return nullptr;
  // A builtin function may stand for any other.
  if (PyCFunction_Check(found))
    return name == interned().dunder_new &&
                   attribute_name(name) ==
                       reinterpret_cast<PyCFunctionObject*>(found)
                           ->m_ml->ml_name
               ? nullptr
               : found;
  const bool is_of_c = Py_IS_TYPE(found, &PyWrapperDescr_Type) ||
                       Py_IS_TYPE(found, &PyMethodDescr_Type) ||
                       Py_IS_TYPE(found, &PyClassMethodDescr_Type);
  // A class may have a method of C's under another name than C has it.
  return is_of_c && PyDescr_NAME(found) == name &&
                 PyType_IsSubtype(type, PyDescr_TYPE(found))
             ? nullptr
             : found;
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

Outcome<V> bind_property(Context& ctx, PyObject* descriptor, V object,
                         PyTypeObject* type, PyObject* name) {
  if (!object) return class_attribute(ctx, type, name, descriptor);
  // What somebody holds in the hand, its class needn't have.
  if (object->is_constant() && is_safe_type(object->type) &&
      _PyType_Lookup(object->type, name) == descriptor) {
    Ref value = Ref::steal(PyObject_GetAttr(object->object, name));
    if (!value) return ctx.raise_from_python();
    return from_constant(ctx, std::move(value));
  }
  Ref getter = Ref::steal(PyObject_GetAttr(descriptor, interned().fget));
  if (!getter) return ctx.raise_from_python();
  if (getter.get() == Py_None)
    return ctx.graph_break("descriptor", "a property without a getter");
  PyObject* kept = ctx.keep(std::move(getter));
  return call(ctx, ctx.known(kept, ctx.sources.constant(kept)), {object});
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
  if (kind == &PyStaticMethod_Type) {
    Ref function =
        Ref::steal(PyObject_GetAttr(descriptor, interned().dunder_func));
    if (!function) return ctx.raise_from_python();
    PyObject* kept = ctx.keep(std::move(function));
    return ctx.known(kept, ctx.sources.constant(kept));
  }
  if (kind == &PyClassMethod_Type) {
    Ref function =
        Ref::steal(PyObject_GetAttr(descriptor, interned().dunder_func));
    if (!function) return ctx.raise_from_python();
    PyObject* kept = ctx.keep(std::move(function));
    if (!PyFunction_Check(kept) && gives_values(ctx, kept))
      return bind_descriptor(ctx, kept, class_value(ctx, type), type, name);
    return ctx.method(ctx.known(kept, ctx.sources.constant(kept)),
                      class_value(ctx, type));
  }
  if (kind == &PyClassMethodDescr_Type) {
    // A constant would keep a class of the program's alive.
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
      return ctx.method(ctx.constant_share(descriptor), class_value(ctx, type));
    Ref method =
        python::bind_in_c(descriptor, reinterpret_cast<PyObject*>(type));
    if (!method) return ctx.raise_from_python();
    return ctx.constant(std::move(method));
  }
  if (PyType_IsSubtype(kind, &PyProperty_Type) &&
      !own_special(ctx, kind, interned().dunder_get)) {
    return bind_property(ctx, descriptor, object, type, name);
  }
  const bool is_of_c =
      kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type;
  if (is_of_c && bound &&
      !PyType_IsSubtype(object->type, PyDescr_TYPE(descriptor)))
    return ctx.raise(PyExc_TypeError,
                     "descriptor '" + attribute_name(PyDescr_NAME(descriptor)) +
                         "' for '" + PyDescr_TYPE(descriptor)->tp_name +
                         "' objects doesn't apply to a '" +
                         object->type->tp_name + "' object");
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
  // A method of pybind11's.
  if (kind == &PyInstanceMethod_Type && ctx.natives->has(descriptor)) {
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
    return call(ctx, ctx.known(getter, ctx.sources.constant(getter)),
                {self, bound ? object : ctx.none(),
                 class_value(ctx, owner ? owner : type)});
  }
  return ctx.graph_break(
      "descriptor", std::string(kind->tp_name) + " in class " + type->tp_name +
                        ", attribute " + attribute_name(name));
}

Outcome<V> special_method(Context& ctx, V object, PyObject* name) {
  object = ctx.look(object);
  PyObject* found = type_lookup(ctx, object->type, name);
  if (found == nullptr) return nullptr;
  return bind_descriptor(ctx, found, object, object->type, name);
}

Outcome<V> call_special(Context& ctx, V object, PyObject* name,
                        std::initializer_list<V> args) {
  MG_TRY(V method, special_method(ctx, object, name));
  if (!method) return nullptr;
  const Context::Question question{ctx.look(object), name};
  for (const Context::Question& earlier : ctx.open_questions)
    if (earlier == question)
      return ctx.graph_break(
          "c-protocol",
          attribute_name(name) + " of a " + question.object->type->tp_name,
          "use it outside of the compiled function");
  struct Open {
    Context& ctx;
    ~Open() { ctx.open_questions.pop_back(); }
  } open{ctx};
  ctx.open_questions.push_back(question);
  return call(ctx, method, args);
}

V attribute_mapping(Context& ctx, V object) {
  if (!object->heap.valid()) return nullptr;
  HeapId attributes = ctx.heap[object->heap].attributes;
  if (!attributes.valid()) attributes = ctx.make_attributes(object);
  return attributes.valid() ? ctx.heap[attributes].owner : nullptr;
}

Outcome<V> generic_get(Context& ctx, V object, PyObject* name) {
  PyTypeObject* type = object->type;
  const std::optional<V> written = written_attribute(ctx, type, name);
  PyObject* found = written ? nullptr : lookup_attribute(ctx, type, name);
  if (found && comes_first(ctx, found))
    return bind_descriptor(ctx, found, object, type, name);
  if (object->heap.valid()) {
    if (V mapping = attribute_mapping(ctx, object)) {
      V value = dict_get_string(ctx, mapping, name);
      if (value) return value;
    }
  } else if (object->is_constant()) {
    V value = ctx.constant_attribute(object, name);
    if (value) return value;
  }
  if (found) return bind_descriptor(ctx, found, object, type, name);
  return written.value_or(nullptr);
}

namespace {

// The tuple's items, each by its identity.
void guard_items(Context& ctx, SourceId source, PyObject* tuple) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  ctx.guards.length(source, count);
  for (Py_ssize_t i = 0; i < count; ++i)
    ctx.guards.identity(ctx.sources.tuple_item(source, static_cast<size_t>(i)),
                        PyTuple_GET_ITEM(tuple, i));
}

// What a program may give a class of its own anew.
Status guard_own_field(Context& ctx, PyTypeObject* type, PyObject* name) {
  if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) return done;
  const std::string which = attribute_name(name);
  if (which == "__dict__" || which == "__abstractmethods__" ||
      which == "__flags__")
    return rely_on_class(ctx, type);
  if (which == "__module__" || which == "__doc__")
    ctx.guard_type_attribute(type, name, _PyType_Lookup(type, name));
  else if (which == "__base__")
    guard_items(ctx,
                ctx.sources.field(type_source(ctx, type),
                                  guards::SourceKind::TypeBases),
                type->tp_bases);
  return done;
}

// __mro__ and __bases__ as tuples of the caller's: a guard on the tuple itself
// would keep it, and so the class, alive. Null for other names.
V classes_of(Context& ctx, PyTypeObject* type, PyObject* name) {
  if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) return nullptr;
  const std::string which = attribute_name(name);
  if (which != "__mro__" && which != "__bases__") return nullptr;
  const bool is_mro = which == "__mro__";
  return ctx.known(is_mro ? type->tp_mro : type->tp_bases,
                   ctx.sources.field(type_source(ctx, type),
                                     is_mro ? guards::SourceKind::TypeMro
                                            : guards::SourceKind::TypeBases));
}

Outcome<V> type_get(Context& ctx, V object, PyObject* name) {
  auto* type = reinterpret_cast<PyTypeObject*>(object->object);
  PyTypeObject* meta = Py_TYPE(object->object);
  PyObject* in_meta = type_lookup(ctx, meta, name);
  if (name == interned().dunder_annotations && type->tp_dict) {
    PyObject* own = PyDict_GetItemWithError(type->tp_dict, name);
    if (own && PyDict_CheckExact(own))
      return ctx.known(own,
                       ctx.sources.type_own_attr(type_source(ctx, type), name));
    if (!own && (type->tp_flags & Py_TPFLAGS_HEAPTYPE))
      return annotations_are_made(ctx);
  }
  if (in_meta && comes_first(ctx, in_meta)) {
    // __name__, __mro__, __dict__ and the like: C code over the type itself.
    if (Py_IS_TYPE(in_meta, &PyGetSetDescr_Type) ||
        Py_IS_TYPE(in_meta, &PyMemberDescr_Type)) {
      if (V classes = classes_of(ctx, type, name)) return classes;
      MG_DO(guard_own_field(ctx, type, name));
      if (name == interned().dunder_dict) return ctx.class_namespace(type);
      V field = field_of_constant(ctx, object, name);
      return field ? Outcome<V>(field) : read_real(ctx, object->object, name);
    }
    return bind_descriptor(ctx, in_meta, object, meta, name);
  }
  const std::optional<V> written = written_attribute(ctx, type, name);
  if (written && *written) return *written;
  PyObject* found = written ? nullptr : lookup_attribute(ctx, type, name);
  if (found) return bind_descriptor(ctx, found, nullptr, type, name);
  if (in_meta) return bind_descriptor(ctx, in_meta, object, meta, name);
  return nullptr;
}

// A Python module: its dictionary, then its own __getattr__ (PEP 562).
Outcome<V> module_get(Context& ctx, V object, PyObject* name) {
  // Programs give modules classes with properties.
  ctx.guards.type_is(ctx.sources.constant(object->object), object->type);
  PyObject* found = type_lookup(ctx, object->type, name);
  if (found && comes_first(ctx, found))
    return bind_descriptor(ctx, found, object, object->type, name);
  V value = ctx.constant_attribute(object, name);
  if (value) return value;
  if (found) return bind_descriptor(ctx, found, object, object->type, name);
  V fallback = ctx.constant_attribute(object, interned().dunder_getattr);
  if (fallback) return call(ctx, fallback, {ctx.constant_share(name)});
  return nullptr;
}

bool uses_generic_get(PyTypeObject* type) {
  return type->tp_getattro == PyObject_GenericGetAttr;
}

// Calls `hook`, which the class has as its __getattribute__ or __getattr__.
Outcome<V> call_hook(Context& ctx, PyObject* hook, V object, PyObject* called,
                     PyObject* name) {
  V name_value = ctx.constant_share(name);
  if (Py_IS_TYPE(hook, &PyFunction_Type))
    return call(ctx, ctx.known(hook, ctx.sources.constant(hook)),
                {object, name_value});
  const bool is_type = object->is_constant() && PyType_Check(object->object);
  MG_TRY(V bound,
         bind_descriptor(ctx, hook, object,
                         is_type ? Py_TYPE(object->object) : object->type,
                         called));
  return call(ctx, bound, {name_value});
}

// Objects/genericaliasobject.c: attributes of an alias itself; any other is its
// origin's.
bool is_of_alias(PyObject* name) {
  constexpr const char* kOwn[] = {
      "__class__",       "__origin__",     "__args__",
      "__unpacked__",    "__parameters__", "__typing_unpacked_tuple_args__",
      "__mro_entries__", "__reduce_ex__",  "__reduce__",
      "__copy__",        "__deepcopy__"};
  return std::ranges::any_of(kOwn, [name](const char* own) {
    return PyUnicode_CompareWithASCIIString(name, own) == 0;
  });
}

// Of a method written in C: that of the class whose instance it is bound to,
// and its name.
Outcome<V> qualified_name_of_bound(Context& ctx, const MethodValue& method) {
  MG_TRY(V of_class,
         get_attribute(ctx, class_value(ctx, ctx.look(method.self)->type),
                       interned().dunder_qualname));
  MG_TRY(V own, get_attribute(ctx, method.function, interned().dunder_name));
  return ctx.string(attribute_name(ctx.look(of_class)->object) + "." +
                    attribute_name(ctx.look(own)->object));
}

// What a weak proxy of the caller's stands for; null if it is gone.
V referent_of(Context& ctx, V proxy) {
  if (!proxy->object || !proxy->source.valid()) return nullptr;
  PyObject* target = PyWeakref_GET_OBJECT(proxy->object);
  if (target == Py_None || !ctx.inliner->surely_lives(target)) return nullptr;
  return ctx.lazy(target, ctx.sources.field(proxy->source,
                                            guards::SourceKind::WeakrefTarget));
}

// Looked up by the __getattribute__ of `owner`, a class in C.
Outcome<V> get_in_c(Context& ctx, V object, PyObject* wanted,
                    PyTypeObject* owner) {
  if (uses_generic_get(owner) || owner == &PyModule_Type)
    return generic_get(ctx, object, wanted);
  if (owner == &Py_GenericAliasType) {
    if (is_of_alias(wanted)) return generic_get(ctx, object, wanted);
    static PyObject* const of_origin = PyUnicode_InternFromString("__origin__");
    MG_TRY(V origin, generic_get(ctx, object, of_origin));
    return get_attribute(ctx, origin, wanted);
  }
  if (owner == &_PyWeakref_ProxyType ||
      owner == &_PyWeakref_CallableProxyType) {
    V target = referent_of(ctx, object);
    if (target) return get_attribute(ctx, target, wanted);
  }
  // Thread-local data: who knows where they look.
  return ctx.graph_break(
      "c-attribute",
      std::string(object->type->tp_name) + "." + attribute_name(wanted),
      "read it outside of the compiled function");
}

// Whether attributes of the class are looked up as those of any other. pybind11
// has a metaclass of its own, which only leaves its methods unbound.
bool has_plain_attributes(Context& ctx, PyTypeObject* type) {
  PyTypeObject* meta = Py_TYPE(type);
  PyObject* found = type_lookup(ctx, meta, interned().dunder_getattribute);
  if (meta->tp_getattro == PyType_Type.tp_getattro ||
      found == _PyType_Lookup(&PyType_Type, interned().dunder_getattribute))
    return true;
  return Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
         std::string_view(PyDescr_TYPE(found)->tp_name) == "pybind11_type";
}

// Null instead of an AttributeError that the look-up itself would raise.
Outcome<V> lookup(Context& ctx, V object, PyObject* name) {
  switch (object->kind) {
    case Kind::Tensor:
      return ctx.natives->tensor_attribute(ctx, object, name);
    case Kind::Super:
      return super_attribute(ctx, object, name);
    case Kind::BoundMethod: {
      const auto* method = as<MethodValue>(object);
      if (name == interned().dunder_self) return method->self;
      if (name == interned().dunder_class)
        return ctx.constant_share(reinterpret_cast<PyObject*>(object->type));
      if (name == interned().dunder_func && object->type == &PyMethod_Type)
        return method->function;
      PyObject* found = _PyType_Lookup(object->type, name);
      // Its name is that of the class, which may have inherited it.
      if (method->function->is_constant() &&
          Py_IS_TYPE(method->function->object, &PyClassMethodDescr_Type) &&
          found && is_data_descriptor(found)) {
        Ref bound =
            python::bind_in_c(method->function->object, method->self->object);
        if (!bound) return ctx.raise_from_python();
        return read_real(ctx, bound, name);
      }
      if (found && !is_data_descriptor(found) && name != interned().dunder_doc)
        return bind_descriptor(ctx, found, object, object->type, name);
      if (object->type != &PyMethod_Type) {
        if (!found) return nullptr;
        if (name == interned().dunder_qualname &&
            object->type == &PyCFunction_Type)
          return qualified_name_of_bound(ctx, *method);
        // Only functions of modules know theirs.
        if (name == interned().dunder_module &&
            object->type == &PyCFunction_Type)
          return ctx.none();
      }
      return get_attribute(ctx, method->function, name);
    }
    case Kind::Constant:
      if (PyType_Check(object->object)) {
        if (has_plain_attributes(
                ctx, reinterpret_cast<PyTypeObject*>(object->object)))
          return type_get(ctx, object, name);
        break;
      }
      if (PyModule_Check(object->object) &&
          object->type->tp_getattro == PyModule_Type.tp_getattro)
        return module_get(ctx, object, name);
      break;
    default:
      break;
  }
  PyTypeObject* type = object->type;
  if (uses_generic_get(type)) {
    // A class may get one later.
    (void)type_lookup(ctx, type, interned().dunder_getattribute);
    return generic_get(ctx, object, name);
  }
  PyObject* getattribute =
      type_lookup(ctx, type, interned().dunder_getattribute);
  PyObject* plain =
      _PyType_Lookup(&PyBaseObject_Type, interned().dunder_getattribute);
  if (getattribute == plain) return generic_get(ctx, object, name);
  if (Py_IS_TYPE(getattribute, &PyWrapperDescr_Type))
    return get_in_c(ctx, object, name, PyDescr_TYPE(getattribute));
  return call_hook(ctx, getattribute, object, interned().dunder_getattribute,
                   name);
}

}  // namespace

Outcome<V> find_attribute(Context& ctx, V object, PyObject* name) {
  object = ctx.look(object);
  Outcome<V> found = lookup(ctx, object, name);
  ctx.missing_attribute = nullptr;
  if (!found) {
    if (found.signal() != Signal::Raised ||
        !ctx.exception_is(PyExc_AttributeError))
      return found;
    // Kept for get_attribute, which raises this very exception.
    ctx.missing_attribute = ctx.take_exception();
  } else if (found.value() != nullptr) {
    return found;
  }
  if (object->kind == Kind::Super) return nullptr;
  PyTypeObject* type = object->is_constant() && PyType_Check(object->object)
                           ? Py_TYPE(object->object)
                           : object->type;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  PyObject* fallback = type_lookup(ctx, type, interned().dunder_getattr);
  if (fallback == nullptr || object->kind == Kind::Tensor) return nullptr;
  Outcome<V> value =
      call_hook(ctx, fallback, object, interned().dunder_getattr, name);
  ctx.missing_attribute = nullptr;
  if (!value && value.signal() == Signal::Raised &&
      ctx.exception_is(PyExc_AttributeError)) {
    ctx.missing_attribute = ctx.take_exception();
    return nullptr;
  }
  return value;
}

Outcome<V> get_attribute(Context& ctx, V object, PyObject* name) {
  MG_TRY(V value, find_attribute(ctx, object, name));
  if (value) return value;
  V missing = std::exchange(ctx.missing_attribute, nullptr);
  if (!missing) return attribute_error(ctx, ctx.look(object), name);
  say_what_is_missing(ctx, missing, object, name);
  return ctx.raise_value(missing);
}

Outcome<V> load_method(Context& ctx, V object, PyObject* name, V* self) {
  MG_TRY(V value, get_attribute(ctx, object, name));
  if (value->kind == Kind::BoundMethod && value->object == nullptr) {
    *self = as<MethodValue>(value)->self;
    return as<MethodValue>(value)->function;
  }
  *self = nullptr;
  return value;
}

}  // namespace magneto::values
