// SPDX-License-Identifier: BSD-3-Clause
// What the tables of dicts and their subclasses share.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

Signal key_error(Context& ctx, V key);

// dict.update(into, other, **keywords): `other` a mapping or pairs, or null.
// With `through_items`, each item is stored as the program would store it
// (OrderedDict.update); else in the dict's own storage.
Status update_dict(Context& ctx, V into, V other, const Arguments& keywords,
                   bool through_items);

// Keys and values as they are now.
struct Items {
  std::vector<V> keys;
  std::vector<V> values;
};
Items items_of(Context& ctx, V dict);

// Removes the first or last entry and returns (key, value).
Outcome<V> pop_item(Context& ctx, V dict, bool last);

}  // namespace magneto::natives
