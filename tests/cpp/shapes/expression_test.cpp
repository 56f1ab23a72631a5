// SPDX-License-Identifier: BSD-3-Clause
// What make() gives has the value that the written operations have, and linear
// forms that are always equal are one expression.
#include "shapes/expression.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference.h"
#include "shapes/show.h"

namespace magneto::shapes {
namespace {

using testing::Assignment;
using testing::evaluate;
using testing::Random;
using testing::Tree;
using testing::Value;

std::string text(const Assignment& symbols) {
  std::string result;
  for (Number value : symbols) {
    result += std::to_string(value.integer()) + " ";
  }
  return result;
}

// Where the tree has a value, the expression has the same.
void expect_agrees(const Tree& tree, E e, const Assignment& symbols) {
  const Value direct = evaluate(tree, symbols);
  if (!direct.is_present()) return;
  const Value made = evaluate(e, symbols);
  if (made.kind == Value::TooLarge) return;
  ASSERT_TRUE(made.is_present()) << show(e) << " raises for " << text(symbols);
  ASSERT_TRUE(direct.same(made))
      << show(e) << " for " << text(symbols) << "is "
      << static_cast<int64_t>(made.integer) << " or " << made.real << ", not "
      << static_cast<int64_t>(direct.integer) << " or " << direct.real;
}

TEST(Expression, HasTheValueOfWhatWasWritten) {
  Random random(1);
  int made = 0;
  for (int round = 0; round < 40000; ++round) {
    Expressions expressions;
    const Tree tree = random.tree(random.type(), 1 + round % 5);
    const E e = make(expressions, tree);
    if (!e) continue;
    ++made;
    EXPECT_EQ(e->type, tree.type);
    for (int i = 0; i < 12; ++i) {
      expect_agrees(tree, e, random.assignment());
      if (HasFatalFailure()) return;
    }
    expect_agrees(tree, e, random.assignment(-2, 2));
    expect_agrees(tree, e, random.assignment(-100000, 100000));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(made, 30000);
}

TEST(Expression, IsNullOnlyWhereNoValueFitsOrAllRaise) {
  Random random(2);
  for (int round = 0; round < 20000; ++round) {
    Expressions expressions;
    const Tree tree = random.tree(Type::Integer, 3);
    if (make(expressions, tree)) continue;
    // Every part of it that raises or is too large does so for all symbols, so
    // operands first: some part can't be made although its operands can.
    const auto culprit = [&](const auto& self,
                             const Tree& part) -> const Tree* {
      for (const Tree& operand : part.operands) {
        if (const Tree* found = self(self, operand)) return found;
      }
      return make(expressions, part) ? nullptr : &part;
    };
    const Tree* part = culprit(culprit, tree);
    ASSERT_NE(part, nullptr);
    for (int i = 0; i < 20; ++i) {
      const Value value = evaluate(*part, random.assignment());
      const bool fits = value.is_present() && value.type != Type::Float &&
                        value.integer == static_cast<int64_t>(value.integer);
      // A coefficient may not fit where a value does: only for great ones.
      if (fits && part->operation != Operation::Multiply &&
          part->operation != Operation::ShiftLeft &&
          part->operation != Operation::Power) {
        FAIL() << "operation " << static_cast<int>(part->operation);
      }
    }
  }
}

// Linear forms, written as a list of operations in any order.
TEST(Expression, LinearFormsAreCanonical) {
  Random random(3);
  for (int round = 0; round < 5000; ++round) {
    Expressions expressions;
    std::vector<E> atoms;
    for (size_t i = 0; i < 4; ++i) {
      atoms.push_back(expressions.symbol(SymbolId(i), Type::Integer));
    }
    atoms.push_back(expressions.make(Operation::FloorDivide, atoms[0],
                                     expressions.integer(3)));
    atoms.push_back(expressions.multiply(atoms[1], atoms[2]));
    std::vector<std::pair<int64_t, E>> parts;
    for (int i = 0; i < 6; ++i) {
      parts.push_back({random.between(-4, 4), atoms[random.between(0, 5)]});
    }
    parts.push_back({random.between(-9, 9), expressions.integer(1)});
    const auto build = [&](const auto& self, size_t from, size_t to) -> E {
      if (to - from == 1) {
        const E factor = expressions.integer(parts[from].first);
        return random.one_in(2)
                   ? expressions.multiply(factor, parts[from].second)
                   : expressions.multiply(parts[from].second, factor);
      }
      const size_t middle = random.between(from + 1, to - 1);
      return expressions.add(self(self, from, middle), self(self, middle, to));
    };
    const E first = build(build, 0, parts.size());
    std::shuffle(parts.begin(), parts.end(), random.engine);
    const E second = build(build, 0, parts.size());
    ASSERT_EQ(first, second) << show(first) << " and " << show(second);
    // Products are expanded, so a form times another is canonical, too.
    const E left = expressions.multiply(first, atoms[3]);
    const E right = expressions.multiply(atoms[3], second);
    ASSERT_EQ(left, right);
    // Scaled comparisons are the same comparison.
    const E zero = expressions.integer(0);
    const E scale = expressions.integer(random.between(1, 5));
    ASSERT_EQ(expressions.less_equal(first, zero),
              expressions.less_equal(expressions.multiply(scale, first), zero));
    ASSERT_EQ(expressions.equal(first, atoms[0]),
              expressions.equal(expressions.negate(atoms[0]),
                                expressions.negate(first)));
  }
}

TEST(Expression, SubstitutionAgreesWithEvaluation) {
  Random random(4);
  for (int round = 0; round < 20000; ++round) {
    Expressions expressions;
    const E e = make(expressions, random.tree(random.type(), 4));
    const E inner = make(expressions, random.tree(Type::Integer, 2));
    if (!e || !inner) continue;
    const auto replacement = [&](SymbolId id) {
      return id.index == 1 ? inner : nullptr;
    };
    const E result = expressions.substitute(e, replacement);
    if (!result) continue;
    for (int i = 0; i < 8; ++i) {
      Assignment symbols = random.assignment();
      const Value value = evaluate(inner, symbols);
      if (!value.is_present() ||
          value.integer != static_cast<int64_t>(value.integer)) {
        continue;
      }
      Assignment replaced = symbols;
      replaced[1] = Number::of(static_cast<int64_t>(value.integer));
      const Value expected = evaluate(e, replaced);
      const Value actual = evaluate(result, symbols);
      if (!expected.is_present() || actual.kind == Value::TooLarge) continue;
      ASSERT_TRUE(actual.is_present() && expected.same(actual))
          << show(e) << " with s1 = " << show(inner) << ": " << show(result)
          << " for " << text(symbols);
    }
  }
}

TEST(Expression, VisitsEachSymbolOnce) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    Expressions expressions;
    const E e = make(expressions, random.tree(random.type(), 4));
    if (!e) continue;
    std::vector<SymbolId> seen;
    for_each_symbol(e, [&](SymbolId id) { seen.push_back(id); });
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << show(e);
    ASSERT_EQ(seen.empty(), !e->has_symbols);
  }
}

// Each row: what is written, and what it reads like when it was made.
class Forms : public ::testing::Test {
 protected:
  Expressions x;
  E a = x.symbol(SymbolId(0), Type::Integer);
  E b = x.symbol(SymbolId(1), Type::Integer);
  E c = x.symbol(SymbolId(2), Type::Integer);
  E f = x.symbol(SymbolId(3), Type::Float);
  E n(int64_t value) { return x.integer(value); }
  E plus(E l, E r) { return x.add(l, r); }
  E times(E l, E r) { return x.multiply(l, r); }
  E div(E l, E r) { return x.make(Operation::FloorDivide, l, r); }
  E mod(E l, E r) { return x.make(Operation::Modulo, l, r); }
  E min(E l, E r) { return x.make(Operation::Minimum, l, r); }
  E max(E l, E r) { return x.make(Operation::Maximum, l, r); }
  void reads(E e, const char* expected) {
    EXPECT_EQ(e ? show(e) : "null", expected);
  }
};

TEST_F(Forms, Divisions) {
  reads(div(plus(times(n(4), a), n(6)), n(4)), "s0 + 1");
  reads(div(plus(times(n(4), a), n(-1)), n(4)), "s0 - 1");
  reads(div(div(a, n(2)), n(3)), "s0 // 6");
  reads(div(plus(div(plus(a, n(-1)), n(2)), n(1)), n(2)), "(s0 + 1) // 4");
  reads(div(times(a, b), a), "s1");
  reads(div(plus(times(a, b), c), a), "s1 + s2 // s0");
  reads(div(times(a, b), times(a, c)), "s1 // s2");
  reads(div(times(n(6), a), times(n(4), b)), "3 * s0 // (2 * s1)");
  reads(div(a, n(1)), "s0");
  reads(div(a, n(-1)), "-s0");
  reads(div(a, n(-2)), "s0 // -2");
  reads(div(a, n(0)), "null");
  reads(div(plus(a, b), plus(b, a)), "1");
  reads(div(times(n(3), plus(a, b)), plus(a, b)), "3");
  reads(div(times(plus(a, n(1)), plus(b, n(2))), plus(a, n(1))), "s1 + 2");
  reads(div(times(times(plus(a, n(1)), b), c), times(b, plus(n(1), a))), "s2");
  reads(mod(plus(times(n(4), a), n(6)), n(4)), "2");
  reads(mod(plus(times(n(6), a), n(3)), n(4)), "2 * ((s0 + 1) % 2) + 1");
  reads(mod(mod(a, n(6)), n(3)), "s0 % 3");
  reads(mod(times(a, b), a), "0");
  reads(mod(times(plus(a, n(1)), b), plus(a, n(1))), "0");
  reads(mod(plus(times(a, b), c), a), "s2 % s0");
  reads(mod(a, n(0)), "null");
  reads(mod(a, n(1)), "0");
}

TEST_F(Forms, Extremes) {
  reads(min(a, plus(a, n(1))), "s0");
  reads(max(max(a, n(3)), max(b, n(5))), "max(s0, s1, 5)");
  reads(min(min(a, b), a), "min(s0, s1)");
  reads(x.make(Operation::Absolute, x.negate(a)), "abs(s0)");
  reads(x.make(Operation::Power, plus(a, n(1)), n(2)), "2 * s0 + s0 * s0 + 1");
  reads(x.make(Operation::ShiftLeft, a, n(3)), "8 * s0");
  reads(x.make(Operation::ShiftRight, a, n(3)), "s0 // 8");
  reads(x.make(Operation::ShiftLeft, a, n(-1)), "null");
  reads(x.make(Operation::Power, a, n(-1)), "null");
}

TEST_F(Forms, Comparisons) {
  reads(x.less(a, b), "s0 + 1 <= s1");
  reads(x.logical_not(x.less(a, b)), "s1 <= s0");
  reads(x.less_equal(times(n(2), a), n(5)), "s0 <= 2");
  reads(x.less_equal(n(5), times(n(2), a)), "s0 >= 3");
  reads(x.less_equal(times(n(-2), a), n(5)), "s0 >= -2");
  reads(x.equal(times(n(2), a), n(5)), "False");
  reads(x.equal(times(n(-2), a), n(6)), "s0 == -3");
  reads(x.less_equal(div(a, n(4)), n(2)), "s0 <= 11");
  reads(x.less_equal(n(2), div(a, n(4))), "s0 >= 8");
  reads(x.less(x.subtract(a, b), n(0)), "s0 + 1 <= s1");
  reads(x.equal(a, plus(b, n(1))), "s0 == s1 + 1");
  reads(x.logical_not(x.equal(a, b)), "s0 != s1");
  reads(x.logical_not(x.less(f, x.real(1.0))), "not s3 < 1.0");
  reads(x.equal(f, f), "s3 == s3");
  const E g = x.make(Operation::ToFloat, a);
  reads(x.less(g, x.real(2.5)), "s0 <= 2");
  reads(x.less(g, x.real(2.0)), "s0 <= 1");
  reads(x.less(x.real(2.0), g), "s0 >= 3");
  reads(x.less_equal(x.real(-2.5), g), "s0 >= -2");
  reads(x.equal(g, x.real(2.5)), "False");
  reads(x.equal(x.real(-0.0), g), "s0 == 0");
  reads(x.less(g, x.real(NAN)), "float(s0) < float('nan')");
  const E p = x.less(a, b), q = x.equal(b, c);
  reads(x.make(Operation::And, p, x.logical_not(p)), "False");
  reads(x.make(Operation::Or, p, x.logical_not(p)), "True");
  reads(x.make(Operation::And, p, x.make(Operation::And, q, p)),
        "s0 + 1 <= s1 and s1 == s2");
  reads(x.logical_not(x.make(Operation::And, p, q)), "s1 <= s0 or s1 != s2");
}

TEST_F(Forms, FloatsKeepTheirOrder) {
  const E zero = x.real(0.0);
  reads(plus(f, zero), "s3 + 0.0");
  reads(times(x.real(1.0), f), "1.0 * s3");
  reads(plus(plus(f, x.real(1.0)), x.real(2.0)), "s3 + 1.0 + 2.0");
  reads(plus(f, plus(x.real(1.0), x.real(2.0))), "s3 + 3.0");
  reads(plus(x.real(1.0), plus(f, x.real(2.0))), "1.0 + (s3 + 2.0)");
  reads(x.make(Operation::TrueDivide, f, zero), "null");
  reads(x.make(Operation::Sqrt, x.real(-1.0)), "null");
  reads(x.make(Operation::TrueDivide, n(1), n(3)), "0.3333333333333333");
  reads(x.make(Operation::TrueDivide, a, n(0)), "null");
  reads(x.make(Operation::ToFloat, n((int64_t{1} << 53) + 1)), "null");
}

TEST_F(Forms, WhatDoesNotFitIsNull) {
  reads(plus(n(INT64_MAX), n(1)), "null");
  reads(times(plus(a, n(INT64_MAX)), n(2)), "null");
  reads(x.negate(n(INT64_MIN)), "null");
  reads(div(n(INT64_MIN), n(-1)), "null");
  reads(mod(n(INT64_MIN), n(-1)), "0");
  reads(x.make(Operation::Absolute, n(INT64_MIN)), "null");
  reads(x.less_equal(a, n(INT64_MAX)), "s0 <= 9223372036854775807");
  reads(x.less_equal(n(INT64_MIN), a), "s0 >= -9223372036854775808");
  reads(x.equal(a, n(INT64_MIN)), "null");
}

}  // namespace
}  // namespace magneto::shapes
