// SPDX-License-Identifier: BSD-3-Clause
// Ranges contain every value: all operands of small intervals, and random ones.
#include "shapes/range.h"

#include <gtest/gtest.h>

#include "reference.h"
#include "shapes/environment.h"
#include "shapes/show.h"

namespace magneto::shapes {
namespace {

using testing::Assignment;
using testing::evaluate;
using testing::Random;
using testing::Value;

constexpr Operation kBinary[] = {
    Operation::Add,     Operation::Multiply,  Operation::FloorDivide,
    Operation::Modulo,  Operation::Power,     Operation::Minimum,
    Operation::Maximum, Operation::BitAnd,    Operation::BitOr,
    Operation::BitXor,  Operation::ShiftLeft, Operation::ShiftRight,
    Operation::Equal,   Operation::Less,      Operation::LessEqual,
    Operation::Absolute};

Type type_of(Operation operation) {
  const bool compares = operation == Operation::Equal ||
                        operation == Operation::Less ||
                        operation == Operation::LessEqual;
  return compares ? Type::Boolean : Type::Integer;
}

bool holds(const Range& range, testing::Wide value) {
  return (range.least == Range::kLeast || range.least <= value) &&
         (range.most == Range::kMost || value <= range.most);
}

TEST(Range, ContainsAllValuesOfSmallIntervals) {
  for (Operation operation : kBinary) {
    for (int64_t a = -5; a <= 5; ++a) {
      for (int64_t b = a; b <= 5; ++b) {
        for (int64_t c = -5; c <= 5; ++c) {
          for (int64_t d = c; d <= 5; ++d) {
            const Range operands[] = {{a, b}, {c, d}};
            const Range result =
                range_of(operation, type_of(operation), operands);
            for (int64_t x = a; x <= b; ++x) {
              for (int64_t y = c; y <= d; ++y) {
                const Value value = testing::on_ints(operation, x, y);
                if (!value.is_present()) continue;
                ASSERT_TRUE(holds(result, value.integer))
                    << row_of(operation).name << " of [" << a << ", " << b
                    << "] and [" << c << ", " << d << "] with " << x << ", "
                    << y;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Range, ContainsAllValuesOfGreatIntervals) {
  Random random(1);
  const auto end = [&]() -> int64_t {
    constexpr int64_t special[] = {
        INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX, 0, 1, -1, 63, 64};
    if (random.one_in(2)) return special[random.between(0, 8)];
    return random.between(-200, 200);
  };
  const auto inside = [&](const Range& range) {
    if (random.one_in(3)) return range.least;
    if (random.one_in(3)) return range.most;
    const int64_t least = std::max<int64_t>(range.least, -1000);
    const int64_t most = std::min<int64_t>(range.most, 1000);
    return least > most ? range.least : random.between(least, most);
  };
  for (int round = 0; round < 300000; ++round) {
    const Operation operation = random.pick(kBinary);
    Range operands[2];
    for (Range& operand : operands) {
      operand = {end(), end()};
      if (operand.is_empty()) std::swap(operand.least, operand.most);
    }
    const Range result = range_of(operation, type_of(operation), operands);
    ASSERT_FALSE(result.is_empty());
    for (int i = 0; i < 4; ++i) {
      const int64_t x = inside(operands[0]), y = inside(operands[1]);
      const Value value = testing::on_ints(operation, x, y);
      if (!value.is_present()) continue;
      ASSERT_TRUE(holds(result, value.integer))
          << row_of(operation).name << " of " << x << ", " << y << " in ["
          << result.least << ", " << result.most << "]";
    }
  }
}

TEST(Range, OfExpressionsContainsTheirValues) {
  Random random(2);
  for (int round = 0; round < 20000; ++round) {
    Environment env(nullptr);
    std::vector<Range> ranges;
    for (uint32_t i = 0; i < random.ints; ++i) {
      Range range{random.between(-12, 12), random.between(-12, 12)};
      if (range.is_empty()) std::swap(range.least, range.most);
      ranges.push_back(range);
      env.unbacked(Type::Integer, range);
    }
    env.unbacked(Type::Float);
    env.unbacked(Type::Boolean);
    const E e =
        make(env.expressions(),
             random.tree(random.one_in(3) ? Type::Boolean : Type::Integer, 4));
    if (!e) continue;
    const Range range = env.range(e);
    const E simple = env.simplify(e);
    for (int i = 0; i < 10; ++i) {
      Assignment symbols = random.assignment();
      for (size_t s = 0; s < ranges.size(); ++s) {
        symbols[s] =
            Number::of(random.between(ranges[s].least, ranges[s].most));
      }
      const Value value = evaluate(e, symbols);
      if (!value.is_present()) continue;
      ASSERT_TRUE(holds(range, value.integer))
          << show(e) << " is " << static_cast<int64_t>(value.integer)
          << ", not in [" << range.least << ", " << range.most << "]";
      const Value simplified = evaluate(simple, symbols);
      if (simplified.kind == Value::TooLarge) continue;
      ASSERT_TRUE(simplified.is_present() && simplified.same(value))
          << show(e) << " became " << show(simple);
    }
  }
}

// Each case: operands, and a range that is known to be tight.
TEST(Range, IsTightForTypicalSizes) {
  const Range size = {0, Range::kMost};
  struct Case {
    Operation operation;
    Range a, b, expected;
  };
  const Case cases[] = {
      {Operation::Add, size, Range::exactly(3), {3, Range::kMost}},
      {Operation::Multiply, size, size, size},
      {Operation::Multiply, size, Range::exactly(-2), {Range::kLeast, 0}},
      {Operation::FloorDivide,
       {5, Range::kMost},
       Range::exactly(2),
       {2, Range::kMost}},
      {Operation::FloorDivide, {-5, 5}, Range::exactly(2), {-3, 2}},
      {Operation::FloorDivide, size, {1, Range::kMost}, size},
      {Operation::Modulo,
       {Range::kLeast, Range::kMost},
       Range::exactly(4),
       {0, 3}},
      {Operation::Modulo, {9, 11}, Range::exactly(4), {1, 3}},
      {Operation::Modulo, {0, 2}, {3, 9}, {0, 2}},
      {Operation::Minimum, size, Range::exactly(7), {0, 7}},
      {Operation::Maximum, size, Range::exactly(7), {7, Range::kMost}},
      {Operation::Power, {2, 3}, {1, 2}, {2, 9}},
      {Operation::BitAnd,
       {Range::kLeast, Range::kMost},
       Range::exactly(7),
       {0, 7}},
  };
  for (const Case& each : cases) {
    const Range operands[] = {each.a, each.b};
    const Range result = range_of(each.operation, Type::Integer, operands);
    EXPECT_EQ(result, each.expected)
        << row_of(each.operation).name << ": [" << result.least << ", "
        << result.most << "]";
  }
}

}  // namespace
}  // namespace magneto::shapes
