// SPDX-License-Identifier: BSD-3-Clause
// Exception instances made while tracing: Objects whose C-level fields are heap
// slots.
#pragma once

#include <span>

#include "values/context.h"

namespace magneto::values {

// The last two only those have that say which name was not found.
enum ExceptionSlot : size_t {
  kArgs,
  kCause,
  kContext,
  kSuppressContext,
  kTraceback,
  kName,
  kObject
};
// What they are called in Python, by number.
std::span<const char* const> exception_slot_names(PyTypeObject* type);

V make_exception(Context& ctx, PyTypeObject* type, std::span<const V> args);
// An AttributeError or NameError: which name it is about, and of which object.
Signal raise_about_name(Context& ctx, PyObject* type,
                        const std::string& message, PyObject* name,
                        V object = nullptr);

// Tracebacks: objects with slots for the code, the globals, the code unit and
// the next entry.
enum TracebackSlot : size_t { kCode, kGlobals, kUnit, kNext };
V make_traceback(Context& ctx, PyCodeObject* code, V globals, int32_t unit,
                 V next);
// Whether instances of the class are exceptions.
bool is_exception_type(PyTypeObject* type);
// The field called `name` (args, __cause__, ...), or null if that is none.
V exception_field(Context& ctx, V exception, PyObject* name);
// The traceback, or null if it is a caller's exception.
V exception_traceback(Context& ctx, V exception);
// Whether C code keeps more of such an exception than the fields above: an
// OSError's errno, a SyntaxError's place, what an AttributeError was told by
// keyword.
bool has_own_fields(PyTypeObject* type, bool has_keywords);
// False if there is no such field.
bool set_exception_field(Context& ctx, V exception, PyObject* name, V value);

}  // namespace magneto::values
