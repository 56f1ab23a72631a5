// SPDX-License-Identifier: BSD-3-Clause
// Runs that are in order already are found, short ones made longer by
// insertion, and neighbours merged in the order of Munro and Wild's powersort.
// A merge searches in growing steps ("gallops") while one side keeps winning.
#include "natives/builtins/merge_sort.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace magneto::natives {

namespace {

// Fewer items than this are one run; longer lists are cut into runs of at least
// half as many.
constexpr size_t kShort = 64;

// So many wins in a row make a merge gallop.
constexpr size_t kGallop = 7;

// Which side of items that are equal to the one that is looked for.
enum class Bound : uint8_t { Before, Behind };

struct Run {
  size_t begin;
  size_t size;
  int power = 0;  // how deep in the tree of merges its right end is
};

class Sorter {
 public:
  Sorter(Context& ctx, std::span<Keyed> items) : ctx_(ctx), items_(items) {}

  Status sort();

 private:
  // One side of a merge, and what is left of it, taken from `head` on.
  struct Side {
    Keyed* head;
    size_t left;
  };

  Outcome<bool> less(const Keyed& left, const Keyed& right);
  Outcome<size_t> ascending_run(size_t begin);
  Status insert(std::span<Keyed> run, size_t sorted);
  Status merge_deeper_than(int power);
  Status merge_at(size_t index);
  Status merge_neighbours(bool forward, Run left_run, Run right_run);
  Status merge_sides(bool forward, Side& left, Side& right, Keyed*& to);
  static void place(bool forward, Side& side, size_t count, Keyed*& to);
  Outcome<size_t> gallop(const Keyed& key, std::span<Keyed> run, size_t hint,
                         Bound bound);

  Context& ctx_;
  std::span<Keyed> items_;
  std::vector<Run> runs_;
  std::vector<Keyed> room_;
  size_t wins_to_gallop_ = kGallop;
};

Outcome<bool> Sorter::less(const Keyed& left, const Keyed& right) {
  MG_TRY(V result, compare(ctx_, Py_LT, left.key, right.key));
  return truth(ctx_, result);
}

// How many items from `begin` on ascend, or descended strictly before they were
// turned around.
Outcome<size_t> Sorter::ascending_run(size_t begin) {
  const std::span<Keyed> rest = items_.subspan(begin);
  if (rest.size() < 2) return rest.size();
  MG_TRY(const bool descends, less(rest[1], rest[0]));
  size_t size = 2;
  for (; size < rest.size(); ++size) {
    MG_TRY(const bool is_less, less(rest[size], rest[size - 1]));
    if (is_less != descends) break;
  }
  if (descends) std::ranges::reverse(rest.first(size));
  return size;
}

// Sorts a run of which the first `sorted` items are in order.
Status Sorter::insert(std::span<Keyed> run, size_t sorted) {
  for (; sorted < run.size(); ++sorted) {
    const Keyed pivot = run[sorted];
    size_t left = 0, right = sorted;
    while (left < right) {
      const size_t middle = left + (right - left) / 2;
      MG_TRY(const bool is_less, less(pivot, run[middle]));
      if (is_less)
        right = middle;
      else
        left = middle + 1;
    }
    const auto at = [&](size_t index) {
      return run.begin() + static_cast<ptrdiff_t>(index);
    };
    std::rotate(at(left), at(sorted), at(sorted + 1));
  }
  return done;
}

// Of `size` items: a run's least size, so that the runs are a power of two or
// slightly fewer.
size_t least_run(size_t size) {
  size_t odd = 0;
  while (size >= kShort) {
    odd |= size & 1;
    size /= 2;
  }
  return size + odd;
}

// How deep in a balanced tree over `size` items the cut between two neighbours
// lies: the first binary digit in which their middles, as parts of `size`,
// differ.
int power_between(Run left, Run right, size_t size) {
  // Both doubled, so that halves are whole.
  size_t a = 2 * left.begin + left.size;
  size_t b = a + left.size + right.size;
  int power = 1;
  while ((a >= size) == (b >= size)) {
    if (a >= size) {
      a -= size;
      b -= size;
    }
    a *= 2;
    b *= 2;
    ++power;
  }
  return power;
}

// Where `key` belongs in `run`, looked for in growing steps from `hint` on.
Outcome<size_t> Sorter::gallop(const Keyed& key, std::span<Keyed> run,
                               size_t hint, Bound bound) {
  const auto goes_behind = [&](size_t index) -> Outcome<bool> {
    if (bound == Bound::Before) return less(run[index], key);
    MG_TRY(const bool is_less, less(key, run[index]));
    return !is_less;
  };
  MG_TRY(const bool upward, goes_behind(hint));
  const size_t room = upward ? run.size() - hint : hint + 1;
  size_t near = 0, far = 1;
  for (; far < room; near = std::exchange(far, 2 * far + 1)) {
    MG_TRY(const bool behind, goes_behind(upward ? hint + far : hint - far));
    if (behind != upward) break;
  }
  far = std::min(far, room);
  // `key` belongs into [low, high].
  size_t low = upward ? hint + near + 1 : hint + 1 - far;
  size_t high = upward ? hint + far : hint - near;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    MG_TRY(const bool behind, goes_behind(middle));
    if (behind)
      low = middle + 1;
    else
      high = middle;
  }
  return high;
}

// Moves items of `side` to where the next ones go.
void Sorter::place(bool forward, Side& side, size_t count, Keyed*& to) {
  const ptrdiff_t step = forward ? 1 : -1;
  for (; count > 0; --count, --side.left, to += step, side.head += step)
    *to = *side.head;
}

// Merges two sides, of which the one in whose direction items are placed was
// copied out of the way: the left one if that is `forward`. What is left of
// both, the caller places. `to` is where the next item goes.
Status Sorter::merge_sides(bool forward, Side& left, Side& right, Keyed*& to) {
  const Side& copied = forward ? left : right;
  Side& in_place = forward ? right : left;
  const auto take = [&](Side& side, size_t count) {
    place(forward, side, count, to);
  };
  const auto over = [&] { return in_place.left == 0 || copied.left <= 1; };
  // How many of `side` come before the other's next item.
  const auto winners = [&](const Side& side, const Keyed& key,
                           Bound bound) -> Outcome<size_t> {
    if (forward) return gallop(key, {side.head, side.left}, 0, bound);
    const size_t last = side.left - 1;
    MG_TRY(const size_t at,
           gallop(key, {side.head - last, side.left}, last, bound));
    return side.left - at;
  };

  take(in_place, 1);
  while (!over()) {
    size_t left_wins = 0, right_wins = 0;
    while (std::max(left_wins, right_wins) < wins_to_gallop_) {
      MG_TRY(const bool is_less, less(*right.head, *left.head));
      const bool from_right = is_less == forward;
      take(from_right ? right : left, 1);
      left_wins = from_right ? 0 : left_wins + 1;
      right_wins = from_right ? right_wins + 1 : 0;
      if (over()) return done;
    }
    ++wins_to_gallop_;
    do {
      if (wins_to_gallop_ > 1) --wins_to_gallop_;
      MG_TRY(left_wins, winners(left, *right.head, Bound::Behind));
      take(left, left_wins);
      if (over()) return done;
      take(right, 1);
      if (over()) return done;
      MG_TRY(right_wins, winners(right, *left.head, Bound::Before));
      take(right, right_wins);
      if (over()) return done;
      take(left, 1);
      if (over()) return done;
    } while (std::max(left_wins, right_wins) >= kGallop);
    ++wins_to_gallop_;
  }
  return done;
}

// Merges two neighbours: from their begin, or from their end backwards.
Status Sorter::merge_neighbours(bool forward, Run left_run, Run right_run) {
  Keyed* const begin = items_.data() + left_run.begin;
  Keyed* const end = begin + left_run.size + right_run.size;
  Side left{begin, left_run.size}, right{begin + left_run.size, right_run.size};
  Side& copied = forward ? left : right;
  room_.assign(copied.head, copied.head + copied.left);
  copied.head = room_.data();
  if (!forward) {
    left.head += left.left - 1;
    right.head += right.left - 1;
  }
  Keyed* to = forward ? begin : end - 1;
  const Status merged = merge_sides(forward, left, right, to);
  if (merged) {
    Side& in_place = forward ? right : left;
    place(forward, in_place, in_place.left, to);
  }
  place(forward, copied, copied.left, to);
  return merged;
}

// Merges the pending run at `index` with the next.
Status Sorter::merge_at(size_t index) {
  Run left = runs_[index], right = runs_[index + 1];
  runs_[index].size += right.size;
  runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(index) + 1);
  const std::span<Keyed> left_items = items_.subspan(left.begin, left.size);
  const std::span<Keyed> right_items = items_.subspan(right.begin, right.size);
  // What is in its place already at both ends takes no part.
  MG_TRY(const size_t placed,
         gallop(right_items.front(), left_items, 0, Bound::Behind));
  left.begin += placed;
  left.size -= placed;
  if (left.size == 0) return done;
  MG_TRY(right.size,
         gallop(left_items.back(), right_items, right.size - 1, Bound::Before));
  if (right.size == 0) return done;
  return merge_neighbours(left.size <= right.size, left, right);
}

// Merges pending runs as long as the cut between the last two is deeper than
// `power`.
Status Sorter::merge_deeper_than(int power) {
  while (runs_.size() > 1 && runs_[runs_.size() - 2].power > power)
    MG_DO(merge_at(runs_.size() - 2));
  return done;
}

Status Sorter::sort() {
  const size_t size = items_.size();
  if (size < 2) return done;
  const size_t least = least_run(size);
  for (size_t begin = 0; begin < size;) {
    MG_TRY(const size_t in_order, ascending_run(begin));
    Run run{begin, std::max(in_order, std::min(least, size - begin))};
    MG_DO(insert(items_.subspan(begin, run.size), in_order));
    if (!runs_.empty()) {
      const int power = power_between(runs_.back(), run, size);
      MG_DO(merge_deeper_than(power));
      runs_.back().power = power;
    }
    runs_.push_back(run);
    begin += run.size;
  }
  while (runs_.size() > 1) {
    size_t at = runs_.size() - 2;
    if (at > 0 && runs_[at - 1].size < runs_[at + 1].size) --at;
    MG_DO(merge_at(at));
  }
  return done;
}

}  // namespace

Status merge_sort(Context& ctx, std::span<Keyed> items) {
  return Sorter(ctx, items).sort();
}

}  // namespace magneto::natives
