// SPDX-License-Identifier: BSD-3-Clause
// Numbers that change with what they are of, for those who compare a few words
// instead of looking again. Both are CPython's own: dicts have none any more
// from 3.13 on, and a folder for such a version must keep one by itself, as
// watchers of dicts allow.
#pragma once

#include "running_python/type_version.h"

namespace magneto::python {

// Where a dict has a number that no other state of any dict had or will have
// (PEP 509).
inline const uint64_t* dict_version(PyObject* dict) noexcept {
  return dict_version_place(dict);
}

// Where a class has a number: while it is the same and not 0, the class and its
// bases have the attributes that they had with it before. Nothing else changes
// in the eight bytes that begin there.
inline const unsigned int* type_version(PyTypeObject* type) noexcept {
  return type_version_place(type);
}

// Gives a class a number if it has none. False for one that gets none: CPython
// has a last one, and some metaclasses prevent it.
bool assign_type_version(PyTypeObject* type) noexcept;

}  // namespace magneto::python
