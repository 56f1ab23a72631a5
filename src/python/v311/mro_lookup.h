// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "python/v311/only.h"

namespace magneto::python {

inline PyObject* cached_mro_lookup(PyTypeObject* type,
                                   PyObject* name) noexcept {
  return _PyType_Lookup(type, name);
}

}  // namespace magneto::python
