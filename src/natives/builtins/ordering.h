// SPDX-License-Identifier: BSD-3-Clause
// Sorting, for sorted() and list.sort().
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// Stable, by the keywords `key` and `reverse` of `args`. Where a comparison
// raises, the items are left in some other order.
Status sort(Context& ctx, std::vector<V>& items, const Arguments& args);

}  // namespace magneto::natives
