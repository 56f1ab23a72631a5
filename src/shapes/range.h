// SPDX-License-Identifier: BSD-3-Clause
// Closed intervals of numbers: what is known of an expression's value. Interval
// arithmetic is sound (the result contains every value that operands in the
// given intervals can give), not always tight.
#pragma once

#include <cstdint>
#include <limits>

#include "shapes/expression.h"

namespace magneto::shapes {

// Of an int or bool. The ends kLeast and kMost stand for infinity.
struct Range {
  static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

  int64_t least = kLeast;
  int64_t most = kMost;

  static constexpr Range exactly(int64_t value) { return {value, value}; }
  bool is_empty() const { return least > most; }
  bool contains(int64_t value) const { return least <= value && value <= most; }
  bool is_bounded() const { return least != kLeast && most != kMost; }
  friend bool operator==(const Range&, const Range&) = default;
};

Range intersect(const Range& a, const Range& b);
// The range of an operation on ints or bools; floats have none (all values).
Range range_of(Operation operation, Type type, std::span<const Range> operands);

}  // namespace magneto::shapes
