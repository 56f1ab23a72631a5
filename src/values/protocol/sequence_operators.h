// SPDX-License-Identifier: BSD-3-Clause
// `+` and `*` of lists and tuples, and of what derives from them.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// left + right, or left += right, of sequences that go together.
Outcome<V> sequence_add(Context& ctx, V left, V right, bool in_place);

// What `*` repeats a sequence by: an integer, through __index__; null if it is
// something else.
Outcome<V> repetitions(Context& ctx, V count);
// sequence * count, or sequence *= count; `count` as repetitions() gives it.
Outcome<V> repeat(Context& ctx, V sequence, V count, bool in_place);

}  // namespace magneto::values
