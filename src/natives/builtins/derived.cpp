// SPDX-License-Identifier: BSD-3-Clause
#include "natives/builtins/derived.h"

#include <algorithm>
#include <string_view>

#include "guards/guard.h"
#include "python/mro_lookup.h"
#include "python/type_version.h"
#include "values/protocol/attributes.h"
#include "values/types/class_attributes.h"

namespace magneto::natives {

namespace {

// What a class may have under a name that isn't asked for when C code reads an
// instance: how instances and subclasses are made, copied, written to, and what
// the class says about itself.
constexpr std::string_view kNotAsked[] = {
    "__abstractmethods__",
    "__annotations__",
    "__class_getitem__",
    "__copy__",
    "__deepcopy__",
    "__delattr__",
    "__dict__",
    "__doc__",
    "__getnewargs__",
    "__getnewargs_ex__",
    "__getstate__",
    "__init__",
    "__init_subclass__",
    "__match_args__",
    "__module__",
    "__new__",
    "__orig_bases__",
    "__parameters__",
    "__reduce__",
    "__reduce_ex__",
    "__set_name__",
    "__setattr__",
    "__setstate__",
    "__slotnames__",
    "__slots__",
    "__subclasshook__",
    "__weakref__",
};

PyTypeObject* plain_base(PyTypeObject* type) {
  for (PyTypeObject* base : {&PyUnicode_Type, &PyBytes_Type, &PyLong_Type,
                             &PyFloat_Type, &PyComplex_Type})
    if (PyType_IsSubtype(type, base)) return base;
  return nullptr;
}

// Whether C code may ask an instance of a class derived from `base` for what
// the class has under that name.
bool may_be_asked(PyObject* key, PyTypeObject* base) {
  if (!PyUnicode_CheckExact(key)) return true;
  const std::string text = values::attribute_name(key);
  if (std::ranges::binary_search(kNotAsked, std::string_view(text)))
    return false;
  return values::is_dunder(key) || python::mro_lookup(base, key);
}

bool asks_nothing_of(PyTypeObject* type, PyTypeObject* base) {
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* each = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (each == base || each == &PyBaseObject_Type) continue;
    if (!(each->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(each->tp_dict, &position, &key, &value))
      if (may_be_asked(key, base)) return false;
  }
  return true;
}

}  // namespace

bool is_as_plain(Context& ctx, PyTypeObject* type) {
  PyTypeObject* base = plain_base(type);
  if (!base || !asks_nothing_of(type, base)) return false;
  if (type == base) return true;
  if (values::is_class_written(ctx, type) || !python::assign_type_version(type))
    return false;
  ctx.guards.type_unmodified(
      ctx.sources.constant(reinterpret_cast<PyObject*>(type)), type);
  return true;
}

V plain_text(Context& ctx, V value) {
  value = ctx.look(value);
  if (!value->is_constant()) return value;
  PyObject* object = value->object;
  if (PyUnicode_Check(object) && !PyUnicode_CheckExact(object))
    return ctx.constant(Ref::steal(PyUnicode_FromObject(object)));
  if (PyBytes_Check(object) && !PyBytes_CheckExact(object))
    return ctx.constant(Ref::steal(PyBytes_FromStringAndSize(
        PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object))));
  return value;
}

}  // namespace magneto::natives
