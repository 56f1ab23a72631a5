// SPDX-License-Identifier: BSD-3-Clause
// The sort of CPython's lists: which items it compares, and in which order, is
// seen by comparisons that print, count or raise. One of our own, because a
// comparison may run traced code, raise, or break the graph: the standard
// library's sorts can't be left in the middle.
#pragma once

#include <span>

#include "natives/registry.h"

namespace magneto::natives {

struct Keyed {
  V key;
  V item;
};

// Stable, ascending by `key`. Where a comparison raises, the items are left in
// the order that CPython leaves them in.
Status merge_sort(Context& ctx, std::span<Keyed> items);

}  // namespace magneto::natives
