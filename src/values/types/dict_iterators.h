// SPDX-License-Identifier: BSD-3-Clause
// Iterators over dicts: of their keys, values or items, forwards or backwards.
// Those of OrderedDicts have one class for all of that.
#pragma once

#include <optional>

#include "values/model/context.h"

namespace magneto::values {

enum class DictPart : uint8_t { Keys, Values, Items };

V dict_iterator(Context& ctx, V dict, DictPart part, bool backwards = false);
bool is_dict_iterator(V iterator);
Outcome<V> next_of_dict(Context& ctx, V iterator);

// What has to be done to have another one that is as far. Nothing if the dict
// has changed since this one was made.
struct DictIteration {
  V dict;
  DictPart part;
  bool backwards;
  int64_t passed;  // items; -1: all of them, and the end was seen
};
std::optional<DictIteration> dict_iteration(Context& ctx, V iterator);

}  // namespace magneto::values
