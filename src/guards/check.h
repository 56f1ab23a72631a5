// SPDX-License-Identifier: BSD-3-Clause
// The predicates: one per row of guards.def that needs one. They run no user
// code and make no objects.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>

#include "guards/constant.h"
#include "guards/node.h"

namespace magneto::guards {

// True if the check, which is of this kind, holds for `value`. That may be any
// object, as guards that others imply are left out.
#define MG_PRESENCE(Kind, rank)
#define MG_GUARD(Kind, rank, keeps, implied) \
  bool check_##Kind(const Check& check, PyObject* value) noexcept;
#include "guards/guards.def"
#undef MG_GUARD

// Descriptors that a class keeps (properties, static methods, slots) can't be
// referred to weakly, and keeping them would keep their class: they are told by
// their address and by what they hold. Null where one holds less.
using Fields = std::array<PyObject*, 4>;
// False for any other object, which is its own identity.
bool fields_of(PyObject* object, Fields& fields) noexcept;
// Whether the object, found by the address of one that had these fields, still
// holds the same things.
bool has_fields(PyObject* object, KeyList fields) noexcept;

// The frequent ones, for holds() to have them inline.
inline bool check_Identity(const Check& check, PyObject* value) noexcept {
  return value == check.object &&
         (check.keys.empty() || has_fields(value, check.keys));
}

inline bool check_NotNone(const Check&, PyObject* value) noexcept {
  return value != Py_None;
}

inline bool check_TypeIs(const Check& check, PyObject* value) noexcept {
  return Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(check.object);
}

inline bool check_ConstantEquals(const Check& check, PyObject* value) noexcept {
  return value == check.object || same_constant(value, check.object);
}

inline bool check_Tensor(const Check& check, PyObject* value) noexcept {
  return hooks().tensor.matches(value, check.snapshot);
}

// A check of any kind, by a call.
bool holds_of_any_kind(const Check& check, PyObject* value) noexcept;

// True if the check holds for `value`.
inline bool holds(const Check& check, PyObject* value) noexcept {
  switch (check.kind) {
    case GuardKind::Identity:
      return check_Identity(check, value);
    case GuardKind::NotNone:
      return check_NotNone(check, value);
    case GuardKind::TypeIs:
      return check_TypeIs(check, value);
    case GuardKind::ConstantEquals:
      return check_ConstantEquals(check, value);
    case GuardKind::Tensor:
      return check_Tensor(check, value);
    default:
      return holds_of_any_kind(check, value);
  }
}

// len() of the built-in containers; -1 for anything else.
Py_ssize_t plain_length(PyObject* value) noexcept;

}  // namespace magneto::guards
