// SPDX-License-Identifier: BSD-3-Clause
// C functions as objects of Python's, for programs of steps to call.
#pragma once

#include "python/ref.h"
#include "support/check.h"

namespace magneto::python {

// A new one for each call.
template <PyObject* function(PyObject*, PyObject* const*, Py_ssize_t) noexcept>
PyObject* function_object(const char* name) {
  static PyMethodDef method = {
      name,
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
      METH_FASTCALL, nullptr};
  PyObject* object = PyCFunction_New(&method, nullptr);
  MG_CHECK(object, "out of memory");
  return object;
}

}  // namespace magneto::python
