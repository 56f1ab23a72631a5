// SPDX-License-Identifier: BSD-3-Clause
// Exception instances made while tracing: Objects whose C-level fields are heap
// slots.
#pragma once

#include <span>

#include "values/context.h"

namespace magneto::values {

// kRaised: True once it was raised, and so has a traceback.
enum ExceptionSlot : size_t {
  kArgs,
  kCause,
  kContext,
  kSuppressContext,
  kRaised
};

V make_exception(Context& ctx, PyTypeObject* type, std::span<const V> args);
// Whether instances of the class are exceptions.
bool is_exception_type(PyTypeObject* type);
// The field called `name` (args, __cause__, ...), or null if that is none.
V exception_field(Context& ctx, V exception, PyObject* name);
// Whether C code keeps more of such an exception than the fields above: an
// OSError's errno, a SyntaxError's place, what an AttributeError was told by
// keyword.
bool has_own_fields(PyTypeObject* type, bool has_keywords);
// False if there is no such field.
bool set_exception_field(Context& ctx, V exception, PyObject* name, V value);

}  // namespace magneto::values
