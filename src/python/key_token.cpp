// SPDX-License-Identifier: BSD-3-Clause
#include "python/key_token.h"

#include <utility>

#include "python/set_items.h"
#include "support/check.h"

namespace magneto::python {
namespace {

struct KeyToken {
  PyObject_HEAD Py_hash_t hash;
};

thread_local bool open_comparison = false;

Py_hash_t hash_of(PyObject* self) {
  return reinterpret_cast<KeyToken*>(self)->hash;
}

PyObject* compare(PyObject* self, PyObject* other, int kind) {
  const bool is_equality = kind == Py_EQ || kind == Py_NE;
  if (!is_equality || Py_TYPE(other) != Py_TYPE(self)) {
    open_comparison = true;
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyBool_FromLong((self == other) == (kind == Py_EQ));
}

PyTypeObject* token_type() {
  static PyObject* const type = [] {
    PyType_Slot slots[] = {
        {Py_tp_hash, reinterpret_cast<void*>(hash_of)},
        {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
        {0, nullptr}};
    PyType_Spec spec = {
        .name = "magneto._KeyToken",
        .basicsize = sizeof(KeyToken),
        .itemsize = 0,
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots};
    PyObject* made = PyType_FromSpec(&spec);
    MG_CHECK(made, "out of memory");
    return made;
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

Ref make_key_token(Py_hash_t hash) {
  Ref token = Ref::steal(token_type()->tp_alloc(token_type(), 0));
  MG_CHECK(token, "out of memory");
  reinterpret_cast<KeyToken*>(token.get())->hash = hash;
  return token;
}

bool holds_key_token(PyObject* object) noexcept {
  if (Py_IS_TYPE(object, token_type())) return true;
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (holds_key_token(PyTuple_GET_ITEM(object, i))) return true;
    return false;
  }
  if (!PyFrozenSet_CheckExact(object)) return false;
  SetItems items(object);
  while (PyObject* item = items.next())
    if (holds_key_token(item)) return true;
  return false;
}

bool take_open_comparison() noexcept {
  return std::exchange(open_comparison, false);
}

}  // namespace magneto::python
