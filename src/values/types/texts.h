// SPDX-License-Identifier: BSD-3-Clause
// Text with numbers in it that aren't known before the call. It is kept in
// parts and written when the compiled piece ends; who asks for its characters
// gets those of the call that is traced, under a guard (Context::look).
#pragma once

#include <initializer_list>

#include "values/model/context.h"

namespace magneto::values {

// A str, known or not, or one of a subclass; looked at with Context::look_open.
bool is_text(V value);
// A Symbol as format(value, format) writes it; `format` may be null. Null if
// that might raise, or isn't said by the number's class alone.
V text_of_number(Context& ctx, V number, PyObject* format);
// Strs joined together, in order.
Outcome<V> concatenated(Context& ctx, std::span<const V> texts);
inline Outcome<V> concatenated(Context& ctx, std::initializer_list<V> texts) {
  return concatenated(ctx, std::span<const V>(texts.begin(), texts.size()));
}
// The text in the call that is traced, under a guard.
V known_text(Context& ctx, V text);

}  // namespace magneto::values
