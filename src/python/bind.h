// SPDX-License-Identifier: BSD-3-Clause
// How methods written in C are bound.
#pragma once

#include "python/ref.h"

namespace magneto::python {

// What `descriptor`, a method of a class written in C, becomes when it is taken
// from `self` (from a class, if it is a class method). Null with an error set.
inline Ref bind_in_c(PyObject* descriptor, PyObject* self) {
  const auto get = Py_TYPE(descriptor)->tp_descr_get;
  if (Py_IS_TYPE(descriptor, &PyClassMethodDescr_Type))
    return Ref::steal(get(descriptor, nullptr, self));
  return Ref::steal(
      get(descriptor, self, reinterpret_cast<PyObject*>(Py_TYPE(self))));
}

}  // namespace magneto::python
