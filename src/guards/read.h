// SPDX-License-Identifier: BSD-3-Clause
// The readers: one per row of sources.def. Each takes any object as its base,
// runs no user code and makes no objects; what it gives is borrowed from the
// base.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "guards/source.h"

namespace magneto::guards {

#define MG_SOURCE(Kind, operand, printed) \
  Reading read_##Kind(const Source& source, PyObject* base) noexcept;
#include "guards/sources.def"
#undef MG_SOURCE

// The Local that every frame has besides its own: the exception that the thread
// is handling, or None.
constexpr uint32_t kHandledLocal = 0xffffff;

// One step of a path, from a value of its base. Not for roots.
Reading read_step(const Source& source, PyObject* base) noexcept;
// What the call brings.
Reading read_root(const Source& source, const CallView& view) noexcept;

// The place of a __slots__ member in `object`, if its type has that member.
PyObject** slot_member_place(PyObject* object, PyObject* member) noexcept;
// The place of a field that is one pointer in the object (a function's code, a
// cell's contents); null if the kind is not such a field or `base` has none.
PyObject** field_place(SourceKind kind, PyObject* base) noexcept;

}  // namespace magneto::guards
