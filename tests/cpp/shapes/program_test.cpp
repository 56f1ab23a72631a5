// SPDX-License-Identifier: BSD-3-Clause
// Programs give what evaluation gives, and fail where Python would raise or 64
// bits aren't enough.
#include "shapes/program.h"

#include <gtest/gtest.h>

#include "reference.h"
#include "shapes/show.h"

namespace magneto::shapes {
namespace {

using testing::Assignment;
using testing::evaluate;
using testing::Random;
using testing::Value;

// As Program::run defines it, by apply() alone.
std::optional<Number> evaluate_narrow(E e, const Assignment& symbols) {
  if (e->is_constant()) return e->value;
  if (e->is_symbol()) return symbols[e->symbol.index];
  const Type type = e->operands[0]->type;
  auto value = evaluate_narrow(e->operands[0], symbols);
  if (value && e->operands.size() == 1) {
    return apply(e->operation, type, *value, {});
  }
  for (E operand : e->operands.subspan(1)) {
    const auto right = evaluate_narrow(operand, symbols);
    if (!value || !right) return std::nullopt;
    value = apply(e->operation, type, *value, *right);
  }
  return value;
}

TEST(Program, AgreesWithApply) {
  Random random(1);
  for (int round = 0; round < 10000; ++round) {
    Expressions expressions;
    Program program;
    std::vector<E> wanted;
    std::vector<uint32_t> registers;
    for (int i = 0; i < 3; ++i) {
      const E e = make(expressions, random.tree(random.type(), 3));
      if (!e) continue;
      wanted.push_back(e);
      registers.push_back(program.add(e));
    }
    for (int i = 0; i < 6; ++i) {
      const Assignment symbols = random.assignment(-6, 6);
      bool defined = true;
      for (E e : wanted) defined &= evaluate_narrow(e, symbols).has_value();
      ASSERT_EQ(program.run(symbols), defined);
      if (!defined) continue;
      for (size_t k = 0; k < wanted.size(); ++k) {
        const Number result = program.result(registers[k]);
        ASSERT_EQ(result, *evaluate_narrow(wanted[k], symbols))
            << show(wanted[k]);
        const Value value = evaluate(wanted[k], symbols);
        ASSERT_TRUE(value.is_present() &&
                    value.same(testing::value_of(wanted[k]->type, result)))
            << show(wanted[k]);
      }
    }
  }
}

TEST(Program, TellsTheCheckThatFailed) {
  Random random(2);
  for (int round = 0; round < 5000; ++round) {
    Expressions expressions;
    Program program;
    std::vector<E> checks;
    for (int i = 0; i < 4; ++i) {
      const E e = make(expressions, random.tree(Type::Boolean, 3));
      if (!e) continue;
      checks.push_back(e);
      program.check(e);
    }
    for (int i = 0; i < 10; ++i) {
      const Assignment symbols = random.assignment(-6, 6);
      size_t failed = 0;
      while (failed < checks.size()) {
        const auto holds = evaluate_narrow(checks[failed], symbols);
        if (!holds || !holds->truth()) break;
        ++failed;
      }
      ASSERT_EQ(program.run(symbols), failed == checks.size());
      if (failed < checks.size()) {
        ASSERT_EQ(program.failed_check(), failed);
      }
    }
  }
}

TEST(Program, SharesCommonParts) {
  Expressions x;
  const E a = x.symbol(SymbolId(4), Type::Integer);
  const E b = x.symbol(SymbolId(2), Type::Integer);
  Program program;
  EXPECT_TRUE(program.is_empty());
  const E division = x.make(Operation::FloorDivide, a, b);
  const uint32_t first = program.add(division);
  program.add(x.add(division, x.integer(1)));
  EXPECT_EQ(program.add(division), first);
  ASSERT_EQ(program.symbols().size(), 2u);
  EXPECT_EQ(program.symbols()[0], SymbolId(2));
  EXPECT_EQ(program.symbols()[1], SymbolId(4));
  const Number few[] = {Number::of(int64_t{1})};
  EXPECT_FALSE(program.run(few));
}

// What Python 3 gives; none where it raises.
struct Case {
  Operation operation;
  double a, b;
  std::optional<double> expected;
};

void expect_cases(Type type, std::span<const Case> cases) {
  for (const Case& each : cases) {
    const auto result = type == Type::Float
                            ? apply(each.operation, type, Number::of(each.a),
                                    Number::of(each.b))
                            : apply(each.operation, type,
                                    Number::of(static_cast<int64_t>(each.a)),
                                    Number::of(static_cast<int64_t>(each.b)));
    const std::string what = std::string(row_of(each.operation).name) + " of " +
                             std::to_string(each.a) + ", " +
                             std::to_string(each.b);
    ASSERT_EQ(result.has_value(), each.expected.has_value()) << what;
    if (!result) continue;
    const bool to_int = type == Type::Integer
                            ? each.operation != Operation::TrueDivide
                            : each.operation == Operation::Truncate ||
                                  each.operation == Operation::Floor ||
                                  each.operation == Operation::Ceiling ||
                                  each.operation == Operation::Round;
    if (to_int) {
      EXPECT_EQ(result->integer(), static_cast<int64_t>(*each.expected))
          << what;
    } else if (std::isnan(*each.expected)) {
      EXPECT_TRUE(std::isnan(result->real())) << what;
    } else {
      EXPECT_EQ(*result, Number::of(*each.expected)) << what;
    }
  }
}

constexpr double kInf = INFINITY;
constexpr double kNan = NAN;

TEST(Apply, IntsAsPython) {
  using O = Operation;
  const Case cases[] = {
      {O::FloorDivide, 7, 2, 3},
      {O::FloorDivide, -7, 2, -4},
      {O::FloorDivide, 7, -2, -4},
      {O::FloorDivide, -7, -2, 3},
      {O::FloorDivide, 0, -2, 0},
      {O::FloorDivide, 1, 0, {}},
      {O::Modulo, 7, 3, 1},
      {O::Modulo, -7, 3, 2},
      {O::Modulo, 7, -3, -2},
      {O::Modulo, -7, -3, -1},
      {O::Modulo, 6, -3, 0},
      {O::Modulo, 1, 0, {}},
      {O::Power, 0, 0, 1},
      {O::Power, -2, 3, -8},
      {O::Power, -1, 1001, -1},
      {O::Power, 2, -1, {}},
      {O::Power, 2, 62, 0x1p62},
      {O::Power, 2, 63, {}},
      {O::ShiftRight, -5, 1, -3},
      {O::ShiftRight, -5, 99, -1},
      {O::ShiftRight, 5, -1, {}},
      {O::ShiftLeft, -5, 2, -20},
      {O::ShiftLeft, 1, 63, {}},
      {O::ShiftLeft, -1, 63, -0x1p63},
      {O::ShiftLeft, 0, 99, 0},
      {O::TrueDivide, 1, 3, 1 / 3.0},
      {O::TrueDivide, 1, 0, {}},
      {O::TrueDivide, 0, -3, 0.0 / -3.0},
      {O::TrueDivide, 0x1p60, 3, {}},
      {O::BitAnd, -4, 6, 4},
      {O::BitOr, -4, 1, -3},
      {O::BitXor, -1, 5, -6},
  };
  expect_cases(Type::Integer, cases);
}

TEST(Apply, FloatsAsPython) {
  using O = Operation;
  const Case cases[] = {
      {O::FloorDivide, 7.5, 2, 3.0},
      {O::FloorDivide, -7.5, 2, -4.0},
      {O::FloorDivide, 0.0, -2, -0.0},
      {O::FloorDivide, -0.0, 2, -0.0},
      {O::FloorDivide, 1, 0.1, 9.0},
      {O::FloorDivide, 1, 0.0, {}},
      {O::FloorDivide, kInf, 1, kNan},
      {O::FloorDivide, 1, kInf, 0.0},
      {O::FloorDivide, -1, kInf, -1.0},
      {O::FloorDivide, 1e300, 3, 1e300 / 3},
      {O::Modulo, 7.5, 2, 1.5},
      {O::Modulo, -7.5, 2, 0.5},
      {O::Modulo, 7.5, -2, -0.5},
      {O::Modulo, -6, 2, 0.0},
      {O::Modulo, 6, -2, -0.0},
      {O::Modulo, 1, 0.0, {}},
      {O::Modulo, -1, kInf, kInf},
      {O::Modulo, 1, kInf, 1},
      {O::Modulo, kInf, 2, kNan},
      {O::Power, 0.0, -1, {}},
      {O::Power, 0.0, 0, 1},
      {O::Power, -8, 1 / 3.0, {}},
      {O::Power, -8, 3, -512},
      {O::Power, 1e200, 2, {}},
      {O::Power, kNan, 0, 1},
      {O::Power, 1, kNan, 1},
      {O::Power, -2, kInf, kInf},
      {O::Power, 0.0, -kInf, kInf},
      {O::Power, -kInf, 0.5, kInf},
      {O::TrueDivide, 1, 0.0, {}},
      {O::TrueDivide, 1e300, 1e-300, kInf},
      {O::Minimum, kNan, 1, kNan},
      {O::Minimum, 1, kNan, 1},
      {O::Minimum, 0.0, -0.0, 0.0},
      {O::Maximum, -0.0, 0.0, -0.0},
      {O::Maximum, kNan, 1, kNan},
      {O::Maximum, 1, 2, 2},
      {O::Truncate, -2.7, 0, -2},
      {O::Floor, -2.7, 0, -3},
      {O::Ceiling, -2.7, 0, -2},
      {O::Round, 2.5, 0, 2},
      {O::Round, 3.5, 0, 4},
      {O::Round, -2.5, 0, -2},
      {O::Round, 0.49999999999999994, 0, 0},
      {O::Truncate, kNan, 0, {}},
      {O::Floor, kInf, 0, {}},
      {O::Truncate, 1e300, 0, {}},
      {O::Truncate, -0x1p63, 0, -0x1p63},
      {O::Truncate, 0x1p63, 0, {}},
      {O::Sqrt, -1, 0, {}},
      {O::Sqrt, -0.0, 0, -0.0},
      {O::Sqrt, kInf, 0, kInf},
      {O::Sqrt, kNan, 0, kNan},
      {O::Log, 0, 0, {}},
      {O::Log, -1, 0, {}},
      {O::Log, kInf, 0, kInf},
      {O::Log2, 8, 0, 3},
      {O::Exp, 1000, 0, {}},
      {O::Exp, -1000, 0, 0.0},
      {O::Exp, -kInf, 0, 0.0},
      {O::Log10, 1000, 0, 3},
      {O::Log10, 0, 0, {}},
      {O::Log1p, -1, 0, {}},
      {O::Log1p, -0.0, 0, -0.0},
      {O::Exp2, 3, 0, 8},
      {O::Exp2, 1024, 0, {}},
      {O::Expm1, 1000, 0, {}},
      {O::Expm1, -kInf, 0, -1},
      {O::Cbrt, -0.0, 0, -0.0},
      {O::Erf, kInf, 0, 1},
      {O::Erfc, kInf, 0, 0.0},
      {O::Asinh, -0.0, 0, -0.0},
      {O::Acosh, 1, 0, 0.0},
      {O::Acosh, 0.5, 0, {}},
      {O::Atanh, 1, 0, {}},
      {O::Atan2, 0.0, -0.0, 3.141592653589793},
      {O::Sin, kInf, 0, {}},
      {O::Cos, 0, 0, 1},
      {O::Tan, kInf, 0, {}},
      {O::Asin, 2, 0, {}},
      {O::Acos, 1, 0, 0.0},
      {O::Sinh, 1000, 0, {}},
      {O::Cosh, kInf, 0, kInf},
      {O::Tanh, kInf, 0, 1},
      {O::Atan, -0.0, 0, -0.0},
      {O::CopySign, 1, -0.0, -1},
      {O::Absolute, -0.0, 0, 0.0},
  };
  expect_cases(Type::Float, cases);
  EXPECT_TRUE(
      apply(O::Equal, Type::Float, Number::of(0.0), Number::of(-0.0))->truth());
}

}  // namespace
}  // namespace magneto::shapes
