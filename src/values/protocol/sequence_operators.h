// SPDX-License-Identifier: BSD-3-Clause
// `+` and `*` of sequences: lists, tuples, texts, and what derives from them.
#pragma once

#include "values/model/context.h"
#include "values/protocol/operator_table.h"

namespace magneto::values {

// left + right, or left += right, of sequences that go together.
Outcome<V> sequence_add(Context& ctx, V left, V right, bool in_place);

// What `*` repeats a sequence by: an integer, through __index__; null if it is
// something else.
Outcome<V> repetitions(Context& ctx, V count);
// Whether the value has the `*` of sequences, and whether it has no other one.
bool repeats(V value);
bool is_repeated(V value);
bool is_repeated_deque(V value);
// The operand of `*` that is repeated; null if neither is. In place, a left one
// that has any method of sequences is asked alone.
V repeated_sequence(V left, V right, bool in_place);
// What a sequence says of `+` and `*` with the wrong thing, if no number on
// either side has taken it.
Status check_concatenation(Context& ctx, BinaryOperator op, V left, V right,
                           bool in_place);
// sequence * count, or sequence *= count; `count` as repetitions() gives it.
Outcome<V> repeat(Context& ctx, V sequence, V count, bool in_place);

}  // namespace magneto::values
