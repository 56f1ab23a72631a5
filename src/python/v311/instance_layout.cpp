// SPDX-License-Identifier: BSD-3-Clause
// Where objects keep their attributes. Public headers where they show the
// structure, internal ones for dict keys; the tests compare what is read with
// what Python itself reports.
#include "python/layout.h"
#include "python/v311/dict_keys.h"

namespace magneto::python {
namespace {

bool has_managed_dict(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
}

// Include/internal/pycore_object.h: what lies in front of an object whose dict
// is managed.
PyObject** managed_dict_slot(PyObject* object) {
  return reinterpret_cast<PyObject**>(object) - 3;
}
PyDictValues** managed_values_slot(PyObject* object) {
  return reinterpret_cast<PyDictValues**>(object) - 4;
}

PyDictKeysObject* shared_keys(PyTypeObject* type) {
  return reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys;
}

PyDictValues* values_of(PyObject* object) {
  if (!has_managed_dict(Py_TYPE(object))) return nullptr;
  return *managed_values_slot(object);
}

}  // namespace

PyObject** dict_slot(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (has_managed_dict(type)) return managed_dict_slot(object);
  Py_ssize_t offset = type->tp_dictoffset;
  if (offset == 0) return nullptr;
  if (offset < 0) {
    Py_ssize_t size = Py_SIZE(object);
    if (size < 0) size = -size;
    offset += static_cast<Py_ssize_t>(_PyObject_VAR_SIZE(type, size));
  }
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

PyObject** made_dict_slot(PyObject* object) noexcept {
  return _PyObject_GetDictPtr(object);
}

void** values_slot(PyObject* object) noexcept {
  if (!has_managed_dict(Py_TYPE(object))) return nullptr;
  return reinterpret_cast<void**>(managed_values_slot(object));
}

PyObject** inline_value(PyObject* object, PyObject* name) noexcept {
  PyDictValues* values = values_of(object);
  if (values == nullptr) return nullptr;
  PyDictKeysObject* keys = shared_keys(Py_TYPE(object));
  const Py_hash_t hash = PyObject_Hash(name);  // a str: cached, can't fail
  const Py_ssize_t ix = find_string(keys, name, hash);
  return ix < 0 ? nullptr : &values->values[ix];
}

const Py_ssize_t* shared_key_count(PyTypeObject* type) noexcept {
  if (!has_managed_dict(type)) return nullptr;
  PyDictKeysObject* keys = shared_keys(type);
  return keys == nullptr ? nullptr : &keys->dk_nentries;
}

Py_ssize_t inline_count(PyObject* object) noexcept {
  const PyDictValues* values = values_of(object);
  if (values == nullptr) return -1;
  return reinterpret_cast<const uint8_t*>(values)[-2];
}

PyObject* inline_name(PyObject* object, Py_ssize_t i) noexcept {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values_of(object));
  PyDictKeysObject* keys = shared_keys(Py_TYPE(object));
  return DK_UNICODE_ENTRIES(keys)[bytes[-3 - i]].me_key;
}

}  // namespace magneto::python
