// SPDX-License-Identifier: BSD-3-Clause
// Attributes written and deleted: object.__setattr__, descriptors, and what the
// class has as its __setattr__ and __delattr__.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structmember.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "python/layout.h"
#include "python/names.h"
#include "python/thread_local.h"
#include "values/protocol/attributes.h"
#include "values/types/class_attributes.h"
#include "values/types/exceptions.h"
#include "values/types/functions.h"

namespace magneto::values {

namespace {

// Written or deleted where there is no place for it. Unlike what reading
// raises, it doesn't have the object and the name.
Signal no_such_attribute(Context& ctx, V object, PyObject* name,
                         bool is_in_class) {
  const std::string whose = std::string("'") + object->type->tp_name;
  const std::string text = std::string("'") + attribute_name(name) + "'";
  return ctx.raise(PyExc_AttributeError,
                   is_in_class
                       ? whose + "' object attribute " + text + " is read-only"
                       : whose + "' object has no attribute " + text);
}

// Modules, and what is in them, in which C code and the graph's own functions
// look things up while it runs.
constexpr std::string_view kReadByOthers[] = {"sys", "builtins", "torch",
                                              "numpy"};

// Functions, and modules but for those.
bool is_written_at_the_end(V object, PyObject* name) {
  if (!object->is_constant() || is_dunder(name)) return false;
  if (PyFunction_Check(object->object)) return true;
  if (!PyModule_Check(object->object)) return false;
  PyObject* module = PyDict_GetItemWithError(PyModule_GetDict(object->object),
                                             interned().dunder_name);
  if (!module || !PyUnicode_Check(module)) return false;
  const std::string whole = attribute_name(module);
  return std::ranges::find(kReadByOthers, whole.substr(0, whole.find('.'))) ==
         std::end(kReadByOthers);
}

Status write(Context& ctx, V object, PyObject* name, V value) {
  // Numbers and strings have no attributes to write: CPython says so itself.
  if (object->is_constant() && is_safe_type(object->type)) {
    if (value) value = ctx.look(value);
    PyObject* given = value && value->is_constant() ? value->object : Py_None;
    const int written =
        PyObject_SetAttr(object->object, name, value ? given : nullptr);
    MG_CHECK(written < 0, "plain data has no attributes that can be set");
    return ctx.raise_from_python();
  }
  const std::optional<V> written = written_attribute(ctx, object->type, name);
  PyObject* found =
      written ? nullptr : lookup_attribute(ctx, object->type, name);
  const bool is_in_class = found || written.value_or(nullptr);
  if (found && takes_values(ctx, found) && !is_declared_slot(found)) {
    PyTypeObject* kind = Py_TYPE(found);
    if (PyType_IsSubtype(kind, &PyProperty_Type) &&
        !own_special(
            ctx, kind,
            value ? interned().dunder_set : interned().dunder_delete)) {
      PyObject* which = value ? interned().fset : interned().fdel;
      Ref setter = Ref::steal(PyObject_GetAttr(found, which));
      if (!setter) return ctx.raise_from_python();
      if (setter.get() == Py_None)
        return ctx.graph_break("descriptor",
                               value ? "a property without a setter"
                                     : "a property without a deleter");
      V function = ctx.known(std::move(setter));
      Outcome<V> result = value ? call(ctx, function, {object, value})
                                : call(ctx, function, {object});
      if (!result) return result.signal();
      return done;
    }
    PyObject* hook = type_lookup(
        ctx, kind, value ? interned().dunder_set : interned().dunder_delete);
    if (hook && Py_IS_TYPE(hook, &PyFunction_Type)) {
      V function = ctx.known(hook);
      V self = class_attribute(ctx, object->type, name, found);
      Outcome<V> result = value ? call(ctx, function, {self, object, value})
                                : call(ctx, function, {self, object});
      if (!result) return result.signal();
      return done;
    }
    if (object->kind == Kind::Function)
      if (size_t field = function_field(name); field < kFunctionFields)
        return set_function_field(ctx, object,
                                  static_cast<FunctionField>(field), value);
    if (kind == &PyMemberDescr_Type &&
        (reinterpret_cast<PyMemberDescrObject*>(found)->d_member->flags &
         READONLY))
      return ctx.raise(PyExc_AttributeError, "readonly attribute");
    if (is_exception_type(object->type) && !object->object && value &&
        name != interned().args) {
      value = ctx.look(value);
      const bool fits = value == ctx.none() || is_exception_type(value->type) ||
                        value->type == &PyTraceBack_Type;
      if (fits && set_exception_field(ctx, object, name, value)) return done;
    }
    return ctx.graph_break(
        "c-attribute-write",
        std::string(object->type->tp_name) + "." + attribute_name(name));
  }
  // Slots and no dictionary: other names can't be written.
  const bool is_slot = found && is_declared_slot(found);
  if (!python::has_dictionary(object->type) && object->heap.valid() &&
      !python::is_thread_local(object->type) &&
      (object->type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !is_slot)
    return no_such_attribute(ctx, object, name, is_in_class);
  V mapping = attribute_mapping(ctx, object);
  if (!mapping && is_written_at_the_end(object, name))
    mapping = ctx.constant_namespace(object);
  if (!mapping) {
    if (object->is_constant() || object->object)
      return ctx.graph_break("attribute-write",
                             std::string("attribute ") + attribute_name(name) +
                                 " of a " + object->type->tp_name);
    return no_such_attribute(ctx, object, name, is_in_class);
  }
  V key = ctx.constant_share(name);
  if (value) return dict_set(ctx, mapping, key, value);
  MG_TRY(V old, dict_pop(ctx, mapping, key));
  // It has a dictionary from then on, whether there was something to delete or
  // not.
  if (!is_slot && is_exception_type(object->type) &&
      !has_dictionary(ctx, object))
    return ctx.graph_break("c-attribute-write",
                           "del of the attribute of an exception, which gives "
                           "it a dictionary");
  if (old) return done;
  if (is_slot) return ctx.raise(PyExc_AttributeError, attribute_name(name));
  return no_such_attribute(ctx, object, name, false);
}

// `hook`: __setattr__ or __delattr__.
Status write_through(Context& ctx, V object, PyObject* hook, PyObject* name,
                     V value) {
  object = ctx.look(object);
  if (object->kind == Kind::Tensor) {
    return ctx.natives->set_tensor_attribute(ctx, object, name, value);
  }
  PyTypeObject* type = object->type;
  PyObject* method = type_lookup(ctx, type, hook);
  if (type->tp_setattro != PyObject_GenericSetAttr) {
    if (own_special(ctx, type, hook)) {
      MG_TRY(V bound, bind_descriptor(ctx, method, object, type, hook));
      V key = ctx.constant_share(name);
      Outcome<V> result =
          value ? call(ctx, bound, {key, value}) : call(ctx, bound, {key});
      if (!result) return result.signal();
      return done;
    }
    if (object->is_constant() && PyType_Check(object->object))
      return write_class_attribute(ctx, object, name, value);
    // C code of another class's.
    if (method && Py_IS_TYPE(method, &PyWrapperDescr_Type) &&
        PyDescr_TYPE(method) != &PyBaseObject_Type &&
        !(python::is_thread_local(type) && attribute_mapping(ctx, object)))
      return ctx.graph_break("attribute-write", std::string("attribute ") +
                                                    attribute_name(name) +
                                                    " of a " + type->tp_name);
  }
  return write(ctx, object, name, value);
}

}  // namespace

Status generic_set(Context& ctx, V object, PyObject* name, V value) {
  return write(ctx, ctx.look(object), name, value);
}

Status set_attribute(Context& ctx, V object, PyObject* name, V value) {
  return write_through(ctx, object, interned().dunder_setattr, name, value);
}

Status delete_attribute(Context& ctx, V object, PyObject* name) {
  return write_through(ctx, object, interned().dunder_delattr, name, nullptr);
}

}  // namespace magneto::values
