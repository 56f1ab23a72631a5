// SPDX-License-Identifier: BSD-3-Clause
// Interval arithmetic. Ends are computed with 128 bits, where kInfinity is
// further than every end of 64 bits, and cut back to 64.
#include "shapes/range.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace magneto::shapes {

namespace {

using Wide = __int128;
constexpr Wide kInfinity = static_cast<Wide>(1) << 100;

struct Ends {
  Wide least, most;
};

Wide clamp(Wide value) {
  if (value > Range::kMost) return kInfinity;
  if (value < Range::kLeast) return -kInfinity;
  return value;
}

Ends ends_of(const Range& range) {
  return {range.least == Range::kLeast ? -kInfinity : Wide{range.least},
          range.most == Range::kMost ? kInfinity : Wide{range.most}};
}

Range range_between(Wide least, Wide most) {
  const auto cut = [](Wide value) {
    return static_cast<int64_t>(
        std::clamp<Wide>(value, Range::kLeast, Range::kMost));
  };
  return {cut(least), cut(most)};
}

Wide product(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  const auto is_infinite = [](Wide x) {
    return x >= kInfinity || x <= -kInfinity;
  };
  if (is_infinite(a) || is_infinite(b)) {
    return negative ? -kInfinity : kInfinity;
  }
  return clamp(a * b);
}

// Of a divisor that is not 0; infinities as limits.
Wide quotient(Wide a, Wide b) {
  const bool negative = (a < 0) != (b < 0);
  if (b >= kInfinity || b <= -kInfinity) return negative && a != 0 ? -1 : 0;
  if (a >= kInfinity || a <= -kInfinity) {
    return negative ? -kInfinity : kInfinity;
  }
  const Wide result = a / b;
  return result - (a % b != 0 && negative);
}

template <class Function>
Range corners(const Ends& a, const Ends& b, Function function) {
  const Wide values[] = {function(a.least, b.least), function(a.least, b.most),
                         function(a.most, b.least), function(a.most, b.most)};
  return range_between(*std::min_element(values, values + 4),
                       *std::max_element(values, values + 4));
}

Range hull(const Range& a, const Range& b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

// Applies `function` to the divisor's negative and positive part.
template <class Function>
Range by_sign(const Range& divisor, Function function) {
  std::optional<Range> result;
  if (divisor.least < 0) {
    result =
        function(Range{divisor.least, std::min<int64_t>(divisor.most, -1)});
  }
  if (divisor.most > 0) {
    const Range positive =
        function(Range{std::max<int64_t>(divisor.least, 1), divisor.most});
    result = result ? hull(*result, positive) : positive;
  }
  return result.value_or(Range{});  // else it raises
}

Range divide(const Range& a, const Range& b) {
  return by_sign(b, [&](const Range& part) {
    return corners(ends_of(a), ends_of(part), quotient);
  });
}

Range modulo(const Range& a, const Range& b) {
  return by_sign(b, [&](const Range& part) -> Range {
    const Ends ends = ends_of(part);
    if (part.least > 0) {
      // Where a's whole range lies within one multiple of the divisor.
      if (part.least == part.most && a.is_bounded()) {
        const Wide first = quotient(a.least, ends.least);
        if (first == quotient(a.most, ends.least)) {
          return range_between(a.least - first * ends.least,
                               a.most - first * ends.least);
        }
      }
      if (a.least >= 0 && a.most < part.least) return a;
      const Wide most = ends.most >= kInfinity ? ends.most : ends.most - 1;
      return range_between(
          0, a.least >= 0 ? std::min(most, ends_of(a).most) : most);
    }
    const Wide least = ends.least <= -kInfinity ? ends.least : ends.least + 1;
    return range_between(least, 0);
  });
}

// base ** exponent with exponent >= 0, saturating.
Wide saturating_power(Wide base, Wide exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (base == 0) return 0;
  Wide result = 1;
  for (int i = 0; i < 64 && exponent > 0; ++i, --exponent) {
    result = product(result, base);
  }
  return result;
}

Range power(const Range& base, const Range& exponent) {
  if (exponent.most < 0) return {};  // it raises
  const Ends b = ends_of(base);
  Ends e = ends_of(exponent);
  e.least = std::max<Wide>(e.least, 0);
  if (b.least >= 1) {
    return range_between(saturating_power(b.least, e.least),
                         saturating_power(b.most, e.most));
  }
  if (b.least >= 0) {
    return range_between(e.most == 0 ? 1 : 0,
                         std::max<Wide>(saturating_power(b.most, e.most), 1));
  }
  const Wide largest = std::max(b.most, -b.least);
  const Wide most = std::max<Wide>(saturating_power(largest, e.most), 1);
  const bool is_even = e.least == e.most && e.most % 2 == 0;
  return range_between(is_even ? 0 : -most, most);
}

Range absolute(const Range& a) {
  const Ends ends = ends_of(a);
  const Wide most = std::max(ends.most, -ends.least);
  if (a.least >= 0) return a;
  if (a.most <= 0) return range_between(-ends.most, -ends.least);
  return range_between(0, most);
}

// The least power of two that is more than every value's magnitude.
Wide cover(std::initializer_list<Range> ranges) {
  Wide result = 1;
  for (const Range& range : ranges) {
    const Ends ends = ends_of(range);
    while (result <= ends.most || -result > ends.least) {
      if (result > Range::kMost) return kInfinity;
      result *= 2;
    }
  }
  return result;
}

Range bitwise(Operation operation, const Range& a, const Range& b) {
  const bool no_sign = a.least >= 0 && b.least >= 0;
  if (operation == Operation::BitAnd) {
    if (no_sign) return {0, std::min(a.most, b.most)};
    if (a.least >= 0) return {0, a.most};
    if (b.least >= 0) return {0, b.most};
    return range_between(-cover({a, b}), Wide{std::max(a.most, b.most)});
  }
  const Wide limit = cover({a, b});
  const Wide most = limit >= kInfinity ? limit : limit - 1;
  if (!no_sign) return range_between(-limit, most);
  const bool is_or = operation == Operation::BitOr;
  return range_between(is_or ? std::max(a.least, b.least) : 0, most);
}

Range shift(Operation operation, const Range& a, const Range& places) {
  if (places.most < 0) return {};  // it raises
  const auto power_of_two = [](int64_t exponent) {
    return exponent > 64
               ? kInfinity
               : static_cast<Wide>(1) << std::max<int64_t>(exponent, 0);
  };
  const Ends factor = {power_of_two(places.least), power_of_two(places.most)};
  return corners(ends_of(a), factor,
                 operation == Operation::ShiftLeft ? product : quotient);
}

constexpr Range kAnyBool = {0, 1};

Range compare(Operation operation, const Range& a, const Range& b) {
  const auto answer = [](bool always, bool never) {
    return always ? Range::exactly(1) : never ? Range::exactly(0) : kAnyBool;
  };
  // An infinite end is reached by no value, so it decides nothing.
  const Ends x = ends_of(a), y = ends_of(b);
  switch (operation) {
    case Operation::Equal:
      return answer(a.least == a.most && a == b && a.is_bounded(),
                    x.most < y.least || y.most < x.least);
    case Operation::Less:
      return answer(x.most < y.least, x.least >= y.most);
    default:
      return answer(x.most <= y.least, x.least > y.most);
  }
}

}  // namespace

Range intersect(const Range& a, const Range& b) {
  return {std::max(a.least, b.least), std::min(a.most, b.most)};
}

Range range_of(Operation operation, Type type,
               std::span<const Range> operands) {
  if (type == Type::Float) return {};
  for (const Range& operand : operands) {
    if (operand.is_empty()) return type == Type::Boolean ? kAnyBool : Range{};
  }
  const Range& a = operands[0];
  const Range& b = operands[operands.size() > 1 ? 1 : 0];
  Range result = a;
  switch (operation) {
    case Operation::Add: {
      Ends total = {0, 0};
      for (const Range& operand : operands) {
        const Ends ends = ends_of(operand);
        total.least = std::max(total.least + ends.least, -kInfinity);
        total.most = std::min(total.most + ends.most, kInfinity);
      }
      return range_between(total.least, total.most);
    }
    case Operation::Multiply:
      for (const Range& operand : operands.subspan(1)) {
        result = corners(ends_of(result), ends_of(operand), product);
      }
      return result;
    case Operation::FloorDivide:
      return divide(a, b);
    case Operation::Modulo:
      return modulo(a, b);
    case Operation::Power:
      return power(a, b);
    case Operation::Minimum:
      for (const Range& operand : operands) {
        result = {std::min(result.least, operand.least),
                  std::min(result.most, operand.most)};
      }
      return result;
    case Operation::Maximum:
      for (const Range& operand : operands) {
        result = {std::max(result.least, operand.least),
                  std::max(result.most, operand.most)};
      }
      return result;
    case Operation::Absolute:
      return absolute(a);
    case Operation::BitAnd:
    case Operation::BitOr:
    case Operation::BitXor:
      return bitwise(operation, a, b);
    case Operation::ShiftLeft:
    case Operation::ShiftRight:
      return shift(operation, a, b);
    case Operation::ToInteger:
      return intersect(a, kAnyBool);
    case Operation::Equal:
    case Operation::Less:
    case Operation::LessEqual:
      return compare(operation, a, b);
    case Operation::And:
    case Operation::Or: {
      for (const Range& operand : operands) {
        const bool is_and = operation == Operation::And;
        result = is_and ? Range{std::min(result.least, operand.least),
                                std::min(result.most, operand.most)}
                        : Range{std::max(result.least, operand.least),
                                std::max(result.most, operand.most)};
      }
      return intersect(result, kAnyBool);
    }
    case Operation::Not: {
      const Range own = intersect(a, kAnyBool);
      return {1 - own.most, 1 - own.least};
    }
    default:
      return type == Type::Boolean ? kAnyBool : Range{};
  }
}

}  // namespace magneto::shapes
