// SPDX-License-Identifier: BSD-3-Clause
// The predicates: one per row of guards.def that speaks of one source. They run
// no user code and make no objects.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>

#include "guards/node.h"

namespace magneto::guards {

bool check_slow(const Check& check, PyObject* value) noexcept;

// Descriptors that a class keeps (properties, static methods, slots) can't be
// referred to weakly, and keeping them would keep their class: they are told by
// their address and by what they hold. Null where one holds less.
using Fields = std::array<PyObject*, 4>;
// False for any other object, which is its own identity.
bool fields_of(PyObject* object, Fields& fields) noexcept;

// True if the check holds for `value`.
inline bool holds(const Check& check, PyObject* value) noexcept {
  switch (check.kind) {
    case GuardKind::Identity:
      return value == check.object &&
             (check.keys.empty() || check_slow(check, value));
    case GuardKind::NotNone:
      return value != Py_None;
    case GuardKind::TypeIs:
      return Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(check.object);
    case GuardKind::ConstantEquals:
      return value == check.object || check_slow(check, value);
    case GuardKind::Tensor:
      return hooks().tensor.matches(value, check.snapshot);
    default:
      return check_slow(check, value);
  }
}

// The step of a range's iterator, whether a zip is strict; 0 for anything else.
int64_t iterator_trait(PyObject* value) noexcept;

// len() of the built-in containers; -1 for anything else.
Py_ssize_t plain_length(PyObject* value) noexcept;

}  // namespace magneto::guards
