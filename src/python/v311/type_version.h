// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/v311/only.h"

namespace magneto::python {

inline const uint64_t* dict_version_place(PyObject* dict) noexcept {
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}

inline const unsigned int* type_version_place(PyTypeObject* type) noexcept {
  // What follows is padding.
  static_assert(offsetof(PyTypeObject, tp_finalize) -
                    offsetof(PyTypeObject, tp_version_tag) ==
                sizeof(uint64_t));
  return &type->tp_version_tag;
}

}  // namespace magneto::python
