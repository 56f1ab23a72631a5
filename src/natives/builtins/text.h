// SPDX-License-Identifier: BSD-3-Clause
// Text: str(), repr(), format() of any value, and f-strings.
#pragma once

#include <span>

#include "natives/registry.h"
#include "values/types/texts.h"

namespace magneto::natives {

Outcome<V> repr_of(Context& ctx, V value);
Outcome<V> str_of(Context& ctx, V value);
Outcome<V> ascii_of(Context& ctx, V value);
// `spec`: a str, or null.
Outcome<V> format_of(Context& ctx, V value, V spec);
// A field of an f-string; see values::NativeTable::format.
Outcome<V> format_field(Context& ctx, V value, int conversion, V spec);

// What str(), repr() and format() have in common.

// The new str; its error if it is null.
Outcome<V> from_text(Context& ctx, PyObject* fresh);
// `text`, which `method` has returned; an error if it is no str.
Outcome<V> checked_text(Context& ctx, V text, const char* method);
// What the class's own method returns; null if that is what CPython's C code
// does anyway. A method that C code defines for plain data is called for real.
Outcome<V> own_text_method(Context& ctx, V value, PyObject* method,
                           std::span<const V> more);
Signal data_in_text(Context& ctx);

}  // namespace magneto::natives
