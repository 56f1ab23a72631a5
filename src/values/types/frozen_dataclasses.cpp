// SPDX-License-Identifier: BSD-3-Clause
// What the module dataclasses leaves in a class that it has written.
#include "values/types/frozen_dataclasses.h"

#include "python/find.h"
#include "python/names.h"
#include "values/protocol/protocol.h"

namespace magneto::values {

namespace {

// What the class itself has under that name; null if it has inherited it.
PyObject* own(Context& ctx, PyTypeObject* type, const char* name) {
  const Ref key = Ref::steal(PyUnicode_InternFromString(name));
  PyObject* found = type_lookup(ctx, type, key);
  PyObject* here = PyDict_GetItemWithError(type->tp_dict, key);
  return here == found ? found : nullptr;
}

bool is_true(PyObject* object, const char* name) {
  const Ref found = Ref::steal(PyObject_GetAttrString(object, name));
  if (!found) PyErr_Clear();
  return found.get() == Py_True;
}

// That it was written by the module, which names no file.
bool is_written_init(PyObject* init) {
  if (!init || !PyFunction_Check(init)) return false;
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(init));
  return PyUnicode_CompareWithASCIIString(code->co_filename, "<string>") == 0;
}

bool is_plain_frozen(Context& ctx, PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
      !Py_IS_TYPE(reinterpret_cast<PyObject*>(type), &PyType_Type) ||
      type->tp_new != PyBaseObject_Type.tp_new)
    return false;
  PyObject* params = own(ctx, type, "__dataclass_params__");
  static PyObject* const class_of_params =
      find_object("dataclasses._DataclassParams");
  static PyObject* const post_init =
      PyUnicode_InternFromString("__post_init__");
  return params && class_of_params &&
         Py_IS_TYPE(params, reinterpret_cast<PyTypeObject*>(class_of_params)) &&
         is_true(params, "frozen") && is_true(params, "init") &&
         is_written_init(own(ctx, type, "__init__")) &&
         !own_special(ctx, type, interned().dunder_new) &&
         !own_special(ctx, type, interned().dunder_getattribute) &&
         !type_lookup(ctx, type, post_init);
}

}  // namespace

std::vector<PyObject*> frozen_fields(Context& ctx, V value) {
  if (value->kind != Kind::Object || !is_plain_frozen(ctx, value->type))
    return {};
  PyObject* fields = own(ctx, value->type, "__dataclass_fields__");
  static PyObject* const plain_field = find_object("dataclasses._FIELD");
  if (!fields || !PyDict_CheckExact(fields)) return {};
  std::vector<PyObject*> names;
  PyObject *name = nullptr, *field = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(fields, &position, &name, &field)) {
    const Ref kind = Ref::steal(PyObject_GetAttrString(field, "_field_type"));
    if (!kind) PyErr_Clear();
    if (kind.get() != plain_field || !is_true(field, "init")) return {};
    names.push_back(name);
  }
  return names;
}

Outcome<bool> is_frozen_with_tensors(Context& ctx, V value) {
  value = ctx.look(value);
  for (PyObject* name : frozen_fields(ctx, value)) {
    MG_TRY(V field, get_attribute(ctx, value, name));
    if (contains_tensor(ctx, field)) return true;
    MG_TRY(bool inside, is_frozen_with_tensors(ctx, field));
    if (inside) return true;
  }
  return false;
}

}  // namespace magneto::values
