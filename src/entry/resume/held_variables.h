// SPDX-License-Identifier: BSD-3-Clause
// Variables of a frame that nobody reads again, and whose objects somebody may
// see die: they live as long as the variables do, and no piece begins with
// them. So ways to one place that differ in nothing else share what follows.
// Nothing runs when such an object dies, or did not when it began to be held.
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

  // All of them become the frame's own again, for plain Python or to die with
  // the others in their order.
  void put_back(FrameValues& values) {
    for (auto& [slot, object] : std::exchange(held_, {}))
      put(values, slot, std::move(object));
  }
  // Those that a piece has written to die with what else it has let go of.
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

  // Whether something runs where one of these is written to.
  bool run_code_at_death(std::span<const int32_t> overwritten) const {
    return std::ranges::any_of(held_, [&](const auto& each) {
      return std::ranges::find(overwritten, each.first) != overwritten.end() &&
             guards::has_finalizer(each.second);
    });
  }

 private:
  // What has got another object meanwhile lets go of this one.
  static void put(FrameValues& values, int32_t slot, Ref object) {
    const auto at = static_cast<size_t>(slot);
    if (at < values.size() && !values[at]) values.put(at, std::move(object));
  }

  std::vector<std::pair<int32_t, Ref>> held_;
};

}  // namespace magneto::entry
