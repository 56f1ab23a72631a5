// SPDX-License-Identifier: BSD-3-Clause
// Sorts of our own, because a comparison may run traced code, raise, or break
// the graph: the standard library's sorts can't be left in the middle.
#include "natives/ordering.h"

#include <algorithm>

#include "python/names.h"

namespace magneto::natives {

namespace {

struct Keyed {
  V key;
  V item;
};

Outcome<bool> less(Context& ctx, V left, V right) {
  MG_TRY(V result, compare(ctx, Py_LT, left, right));
  return truth(ctx, result);
}

// Up to so many items, CPython sorts by insertion.
constexpr size_t kFew = 64;

// How many items at the beginning ascend, or descend strictly; these are turned
// around.
Outcome<size_t> first_run(Context& ctx, std::span<Keyed> items) {
  if (items.size() < 2) return items.size();
  MG_TRY(const bool descends, less(ctx, items[1].key, items[0].key));
  size_t size = 2;
  for (; size < items.size(); ++size) {
    MG_TRY(const bool is_less, less(ctx, items[size].key, items[size - 1].key));
    if (is_less != descends) break;
  }
  if (descends) std::ranges::reverse(items.first(size));
  return size;
}

// The comparisons are CPython's, in its order: they may print, or raise.
Status insertion_sort(Context& ctx, std::span<Keyed> items) {
  MG_TRY(size_t sorted, first_run(ctx, items));
  for (; sorted < items.size(); ++sorted) {
    const Keyed pivot = items[sorted];
    size_t left = 0, right = sorted;
    while (left < right) {
      const size_t middle = left + (right - left) / 2;
      MG_TRY(const bool is_less, less(ctx, pivot.key, items[middle].key));
      if (is_less)
        right = middle;
      else
        left = middle + 1;
    }
    std::rotate(items.begin() + static_cast<ptrdiff_t>(left),
                items.begin() + static_cast<ptrdiff_t>(sorted),
                items.begin() + static_cast<ptrdiff_t>(sorted) + 1);
  }
  return done;
}

// Sorts [begin, end) of `items`, with as much room in `room`.
Status merge_sort(Context& ctx, Keyed* items, Keyed* room, size_t begin,
                  size_t end) {
  if (end - begin < 2) return done;
  const size_t middle = begin + (end - begin) / 2;
  MG_DO(merge_sort(ctx, items, room, begin, middle));
  MG_DO(merge_sort(ctx, items, room, middle, end));
  std::copy(items + begin, items + end, room + begin);
  size_t left = begin, right = middle;
  for (size_t at = begin; at < end; ++at) {
    bool take_right = left == middle;
    if (!take_right && right < end) {
      MG_TRY(take_right, less(ctx, room[right].key, room[left].key));
    }
    items[at] = room[take_right ? right++ : left++];
  }
  return done;
}

}  // namespace

Status sort(Context& ctx, std::vector<V>& items, const Arguments& args) {
  V key = args.keyword(interned().key);
  if (key) key = ctx.look(key);
  if (key && key->is_constant() && key->object == Py_None) key = nullptr;
  bool reverse = false;
  if (V given = args.keyword(interned().reverse)) {
    MG_TRY(reverse, truth(ctx, given));
  }
  std::vector<Keyed> keyed(items.size()), room(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    keyed[i] = {items[i], items[i]};
    if (key) {
      MG_TRY(keyed[i].key, call(ctx, key, {items[i]}));
    }
  }
  // Equal items keep their order when the order is reversed, too.
  if (reverse) std::reverse(keyed.begin(), keyed.end());
  const Status sorted =
      keyed.size() < kFew
          ? insertion_sort(ctx, keyed)
          : merge_sort(ctx, keyed.data(), room.data(), 0, keyed.size());
  // A merge that is left has some items twice.
  if (!sorted && keyed.size() >= kFew) return sorted;
  if (reverse) std::reverse(keyed.begin(), keyed.end());
  for (size_t i = 0; i < items.size(); ++i) items[i] = keyed[i].item;
  return sorted;
}

}  // namespace magneto::natives
