// SPDX-License-Identifier: BSD-3-Clause
// Dead variables of a frame, which nothing reads again, whose objects the
// program may see die (by a weak reference): the driver holds these objects as
// long as the variables live. They aren't among the variables that a piece
// begins with, so ways to one place that differ only in them share what
// follows. No such object had a finalizer when it began to be held.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "entry/resume/values.h"
#include "guards/finalizer.h"

namespace magneto::entry {

class HeldVariables {
 public:
  bool empty() const { return held_.empty(); }

  void hold(int32_t slot, Ref object) {
    held_.emplace_back(slot, std::move(object));
  }

  // Gives all of them back to the frame, for plain Python or to die in order
  // with its other variables.
  void put_back(FrameValues& values) {
    for (auto& [slot, object] : std::exchange(held_, {}))
      put(values, slot, std::move(object));
  }
  // Only those that a piece has written to: they die with what else it has
  // dropped.
  void put_back(FrameValues& values, std::span<const int32_t> overwritten) {
    const auto first =
        std::ranges::stable_partition(held_, [&](const auto& each) {
          return std::ranges::find(overwritten, each.first) ==
                 overwritten.end();
        }).begin();
    std::vector<std::pair<int32_t, Ref>> dead(
        std::make_move_iterator(first), std::make_move_iterator(held_.end()));
    held_.erase(first, held_.end());
    for (auto& [slot, object] : dead) put(values, slot, std::move(object));
  }

  // Calls `function` with each slot that isn't among `overwritten`, and its
  // object, borrowed.
  template <class Function>
  void for_each(std::span<const int32_t> overwritten, Function function) const {
    for (const auto& [slot, object] : held_)
      if (std::ranges::find(overwritten, slot) == overwritten.end())
        function(slot, object.get());
  }

  // Whether one of the variables that a piece overwrites has a finalizer by
  // now.
  bool have_finalizers(std::span<const int32_t> overwritten) const {
    return std::ranges::any_of(held_, [&](const auto& each) {
      return std::ranges::find(overwritten, each.first) != overwritten.end() &&
             guards::has_finalizer(each.second);
    });
  }

 private:
  // A variable that has another object by now drops this one.
  static void put(FrameValues& values, int32_t slot, Ref object) {
    const auto at = static_cast<size_t>(slot);
    if (at < values.size() && !values[at]) values.put(at, std::move(object));
  }

  std::vector<std::pair<int32_t, Ref>> held_;
};

}  // namespace magneto::entry
