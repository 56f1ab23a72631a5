// SPDX-License-Identifier: BSD-3-Clause
// Attribute look-up: object.__getattribute__, type.__getattribute__, modules,
// super, descriptors.
#include "values/protocol/attributes.h"

#include <algorithm>
#include <utility>

#include "python/bind.h"
#include "python/class_hierarchy.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/thread_local.h"
#include "python/types.h"
#include "values/types/class_attributes.h"
#include "values/types/definitions.h"
#include "values/types/exceptions.h"
#include "values/types/functions.h"

namespace magneto::values {

namespace {

// One that is asked before the instance's own attributes.
bool comes_first(Context& ctx, PyObject* descriptor) {
  return gives_values(ctx, descriptor) && takes_values(ctx, descriptor);
}

}  // namespace

SourceId type_source(Context& ctx, PyTypeObject* type) {
  return ctx.sources.constant(reinterpret_cast<PyObject*>(type));
}

V class_value(Context& ctx, PyTypeObject* type) {
  return ctx.known(reinterpret_cast<PyObject*>(type), type_source(ctx, type));
}

Outcome<V> read_real(Context& ctx, PyObject* object, PyObject* name) {
  Ref result = Ref::steal(PyObject_GetAttr(object, name));
  if (!result) return ctx.raise_from_python();
  return from_constant(ctx, std::move(result));
}

Signal annotations_are_made(Context& ctx) {
  return ctx.graph_break("c-attribute",
                         "__annotations__ that are made when they are read",
                         "read them with typing.get_type_hints()");
}

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
  if (python::mro_lookup(type, name) != object) return ctx.known(object);
  const SourceId source = ctx.sources.type_attr(type_source(ctx, type), name);
  return is_number(object) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
             ? ctx.lazy(object, source)
             : ctx.known(object, source);
}

PyObject* type_lookup(Context& ctx, PyTypeObject* type, PyObject* name) {
  if (ctx.has_written_classes() && written_attribute(ctx, type, name))
    throw BreakException{
        {"attribute-write", "attribute " + attribute_name(name) + " of class " +
                                type->tp_name + " that was written before"}};
  PyObject* found = python::mro_lookup(type, name);
  // Classes written in C can't be changed.
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    python::know_class(type);
    ctx.guard_type_attribute(type, name, found);
  }
  return found;
}

PyObject* lookup_attribute(Context& ctx, PyTypeObject* type, PyObject* name) {
  PyObject* found = python::mro_lookup(type, name);
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

namespace {

// Those of a threading.local of the caller's: a dict like any other.
V thread_attributes(Context& ctx, V object) {
  PyObject* dict = object->object && object->source.valid()
                       ? python::thread_local_dict(object->object)
                       : nullptr;
  return dict ? ctx.known(dict, ctx.sources.field(
                                    object->source,
                                    guards::SourceKind::ThreadLocalDict))
              : nullptr;
}

}  // namespace

V attribute_mapping(Context& ctx, V object) {
  if (!object->heap.valid()) return nullptr;
  if (python::is_thread_local(object->type))
    return thread_attributes(ctx, object);
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
    ctx.guard_type_attribute(type, name, python::mro_lookup(type, name));
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
    return call(ctx, ctx.known(hook), {object, name_value});
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
  if (python::is_weak_proxy(owner)) {
    V target = referent_of(ctx, object);
    if (target) return get_attribute(ctx, target, wanted);
  }
  if (python::is_thread_local(owner)) {
    V attributes = attribute_mapping(ctx, object);
    if (attributes && wanted == interned().dunder_dict) return attributes;
    if (attributes) return generic_get(ctx, object, wanted);
  }
  // Who knows where they look.
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
      found == python::mro_lookup(&PyType_Type, interned().dunder_getattribute))
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
      PyObject* found = python::mro_lookup(object->type, name);
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
      python::mro_lookup(&PyBaseObject_Type, interned().dunder_getattribute);
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
  // Where the class looks its attributes up in another way, or the object holds
  // the method of another one, a method in C comes bound, and names the class
  // in its errors.
  const auto comes_bound = [&](const MethodValue* method) {
    PyObject* function = method->function->object;
    return function && Py_IS_TYPE(function, &PyMethodDescr_Type) &&
           (object->type->tp_getattro != PyObject_GenericGetAttr ||
            ctx.look(method->self) != ctx.look(object));
  };
  if (value->kind == Kind::BoundMethod && value->object == nullptr &&
      !comes_bound(as<MethodValue>(value))) {
    *self = as<MethodValue>(value)->self;
    return as<MethodValue>(value)->function;
  }
  *self = nullptr;
  return value;
}

}  // namespace magneto::values
