// SPDX-License-Identifier: BSD-3-Clause
// A value that an expression may have: an int of 64 bits, a float, or a bool.
#pragma once

#include <bit>
#include <cstdint>

namespace magneto::shapes {

enum class Type : uint8_t { Boolean, Integer, Float };

// Bools are the ints 0 and 1; which of the members counts, the expression's
// type tells.
class Number {
 public:
  constexpr Number() = default;
  static constexpr Number of(int64_t value) {
    return Number(std::bit_cast<uint64_t>(value));
  }
  static constexpr Number of(double value) {
    return Number(std::bit_cast<uint64_t>(value));
  }
  static constexpr Number of(bool value) { return Number(value ? 1u : 0u); }

  constexpr int64_t integer() const { return std::bit_cast<int64_t>(bits_); }
  constexpr double real() const { return std::bit_cast<double>(bits_); }
  constexpr bool truth() const { return bits_ != 0; }
  constexpr uint64_t bits() const { return bits_; }
  // Equal bits: 0.0 and -0.0 differ, a NaN equals itself.
  friend constexpr bool operator==(Number, Number) = default;

 private:
  constexpr explicit Number(uint64_t bits) : bits_(bits) {}
  uint64_t bits_ = 0;
};

}  // namespace magneto::shapes
