// SPDX-License-Identifier: BSD-3-Clause
// Text: str(), repr(), format() of any value, and f-strings.
#pragma once

#include "natives/registry.h"
#include "values/texts.h"

namespace magneto::natives {

Outcome<V> repr_of(Context& ctx, V value);
Outcome<V> str_of(Context& ctx, V value);
Outcome<V> ascii_of(Context& ctx, V value);
// `spec`: a str, or null.
Outcome<V> format_of(Context& ctx, V value, V spec);
// A field of an f-string; see values::NativeTable::format.
Outcome<V> format_field(Context& ctx, V value, int conversion, V spec);

}  // namespace magneto::natives
