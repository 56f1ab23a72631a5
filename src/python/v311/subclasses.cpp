// SPDX-License-Identifier: BSD-3-Clause
#include "python/class_hierarchy.h"
#include "python/v311/only.h"

namespace magneto::python {

// Objects/typeobject.c: a dict of weak references, in the order in which the
// classes were made.
PyObject* subclass_at(PyTypeObject* type, size_t i) noexcept {
  if (!type->tp_subclasses) return nullptr;
  PyObject* reference = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(type->tp_subclasses, &position, nullptr, &reference)) {
    PyObject* subclass = PyWeakref_GET_OBJECT(reference);
    if (subclass != Py_None && i-- == 0) return subclass;
  }
  return nullptr;
}

}  // namespace magneto::python
