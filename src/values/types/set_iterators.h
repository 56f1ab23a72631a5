// SPDX-License-Identifier: BSD-3-Clause
// Iterators over sets.
#pragma once

#include <optional>

#include "values/model/context.h"

namespace magneto::values {

// Of one that the trace follows, or of a frozenset that is a constant.
Outcome<V> set_iterator(Context& ctx, V set);
bool is_set_iterator(V iterator);
Outcome<V> next_of_set(Context& ctx, V iterator);

// What has to be done to have another one that is as far. Nothing if the set
// has changed since this one was made, or where its order isn't known yet.
struct SetIteration {
  V set;
  int64_t passed;  // items; -1: all of them, and the end was seen
};
std::optional<SetIteration> set_iteration(Context& ctx, V iterator);

}  // namespace magneto::values
