// SPDX-License-Identifier: BSD-3-Clause
// What values lead to, as the trace has left them: items, attributes, the
// contents of cells, what functions have of their own. What nobody has read of
// the caller's objects isn't there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "values/model/context.h"

namespace magneto::values {

// Whether a value can't lead to another one.
bool leads_nowhere(V value);

class Reachable {
 public:
  // What leads nowhere may be of no interest; then it is dropped.
  enum class Leaves : uint8_t { Kept, Dropped };
  explicit Reachable(const Context& ctx, Leaves leaves = Leaves::Kept)
      : ctx_(ctx), leaves_(leaves) {}

  // A value and all that it leads to; null adds nothing.
  void add(V value);
  void add(std::span<const V> values) {
    for (V value : values) add(value);
  }

  // What an object of the heap has, and all that it leads to.
  void add_state(HeapId object) {
    push_state(object);
    drain();
  }

  // All that it leads to; itself if it is in a cycle.
  void add_contents(V value) {
    push_parts(ctx_.looked_at(value));
    drain();
  }

  // What generators that the trace made lead to, by their frames: `add_frame`
  // adds that of the generator with a number.
  template <class AddFrame>
  void follow_generators(AddFrame add_frame) {
    std::unordered_set<size_t> followed;
    for (bool more = true; std::exchange(more, false);) {
      std::vector<size_t> numbers;
      for (V each : found_) {
        if (each->kind != Kind::Generator || !each->heap.valid()) continue;
        const auto number = static_cast<size_t>(ctx_.heap[each->heap].number);
        if (followed.insert(number).second) numbers.push_back(number);
      }
      for (size_t number : numbers) {
        add_frame(number);
        more = true;
      }
    }
  }

  // Also true if another value for the same object of the caller's is in it.
  bool contains(V value) const {
    if (!value) return false;
    value = ctx_.looked_at(value);
    return found_.contains(value) ||
           (value->object &&
            std::ranges::count(found_, value->object, &Value::object));
  }
  auto begin() const { return found_.begin(); }
  auto end() const { return found_.end(); }

 private:
  void push(V value);
  void push(std::span<const V> values) {
    for (V value : values) push(value);
  }
  void push_parts(V value);
  void drain();
  void push_state(HeapId id);

  const Context& ctx_;
  Leaves leaves_;
  std::unordered_set<V> found_;
  std::vector<V> waiting_;
};

}  // namespace magneto::values
