// SPDX-License-Identifier: BSD-3-Clause
#include "python/thread_local.h"

#include "python/find.h"
#include "python/names.h"
#include "python/ref.h"

namespace magneto::python {

namespace {

PyTypeObject* plain_type() {
  static PyObject* const type = [] {
    return Ref::share(find_object("_thread._local")).release();
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

bool is_thread_local(PyTypeObject* type) noexcept {
  PyTypeObject* plain = plain_type();
  return plain && type->tp_getattro == plain->tp_getattro;
}

PyObject* thread_local_dict(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (!is_thread_local(type) || type->tp_init != PyBaseObject_Type.tp_init)
    return nullptr;
  const Ref dict =
      Ref::steal(plain_type()->tp_getattro(object, interned().dunder_dict));
  if (!dict) PyErr_Clear();
  // The thread keeps it as long as the object lives.
  return dict && PyDict_CheckExact(dict.get()) ? dict.get() : nullptr;
}

}  // namespace magneto::python
