// SPDX-License-Identifier: BSD-3-Clause
#include "python/types.h"

#include "python/v311/only.h"

namespace magneto::python {

const char* short_name(PyTypeObject* type) noexcept {
  return _PyType_Name(type);
}

bool matches_itself(PyTypeObject* type) noexcept {
  return (type->tp_flags & _Py_TPFLAGS_MATCH_SELF) != 0;
}

bool has_next(PyTypeObject* type) noexcept {
  return type->tp_iternext && type->tp_iternext != _PyObject_NextNotImplemented;
}

bool is_weak_proxy(PyTypeObject* type) noexcept {
  return type == &_PyWeakref_ProxyType || type == &_PyWeakref_CallableProxyType;
}

PyTypeObject* method_wrapper_type() noexcept { return &_PyMethodWrapper_Type; }

}  // namespace magneto::python
