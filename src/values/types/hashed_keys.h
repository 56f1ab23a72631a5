// SPDX-License-Identifier: BSD-3-Clause
// What dicts and sets have in common as types: how many keys there are, and, of
// keys whose class has a __hash__ in Python, what the steps take that put such
// keys into real dicts and sets.
#pragma once

#include "values/types/type_table.h"

namespace magneto::values {

// A row's `length`.
Outcome<V> key_count(Context& ctx, V keyed);
// Whether the key's class has a __hash__ in Python. Its __eq__ can't be asked
// while objects may still be without their attributes; it isn't where no other
// key has the same hash.
bool is_hashed_in_python(const DictState& dict, const DictEntry& entry);
// What the key had when it was put there.
V hash_of(Context& ctx, const DictEntry& entry);

}  // namespace magneto::values
