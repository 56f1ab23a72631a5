// SPDX-License-Identifier: BSD-3-Clause
// Dicts of the caller's whose keys are numbers that somebody counts on, as
// those of the hooks of modules: no two dicts have the same. A program that
// goes over one and doesn't ask which keys there are works for all; then only
// how many there are is guarded, and the values are found by their places.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// The keys of such a dict, each to be guarded by whoever looks at it; nothing
// if it is another dict, or the program has asked for some of its keys.
std::vector<V> keys_by_place(Context& ctx, V dict);

// Where such a key comes from: the place that its value is found at.
std::optional<uint32_t> place_of_key(const Context& ctx, V dict, V key);

// Whether a value is such a key that nobody has looked at.
bool is_unknown_key(const Context& ctx, V value);

// Someone looks for a key, or at all of them: which there are is guarded.
void settle_keys(Context& ctx, V dict);

}  // namespace magneto::values
