// SPDX-License-Identifier: BSD-3-Clause
// What the environment answers follows from its guards, and rolling back gives
// the answers of before.
#include "shapes/environment.h"

#include <gtest/gtest.h>

#include "reference.h"
#include "shapes/show.h"

namespace magneto::shapes {
namespace {

using testing::Assignment;
using testing::evaluate;
using testing::Random;
using testing::Value;
using testing::Wide;

bool holds(E condition, const Assignment& symbols) {
  const Value value = evaluate(condition, symbols);
  return value.is_present() && value.integer != 0;
}

constexpr int64_t kLeastValue = -3, kMostValue = 8;

// A random trace: symbols, then questions. Answers are kept with what they are
// about: a value that an expression always has, if the guards hold.
class Trace {
 public:
  Trace(Random& generator, Journal* journal) : env(journal), random(generator) {
    for (uint32_t i = 0; i < random.ints; ++i) {
      const int64_t value = random.between(kLeastValue, kMostValue);
      truth.push_back(Number::of(value));
      Range range;
      if (random.one_in(2))
        range.least = std::min<int64_t>(value, random.between(-2, 3));
      if (random.one_in(4))
        range.most = std::max<int64_t>(value, random.between(3, 8));
      const bool is_backed = i == 0 || !random.one_in(3);
      const E e = is_backed ? env.backed(Type::Integer, truth[i], range)
                            : env.unbacked(Type::Integer, range);
      if (!is_backed) {
        E least = env.expressions().integer(range.least);
        E most = env.expressions().integer(range.most);
        assumed.push_back(env.expressions().less_equal(e, most));
        if (range.least != Range::kLeast) {
          assumed.push_back(env.expressions().less_equal(least, e));
        }
      }
    }
    truth.push_back(Number::of(random.real()));
    env.backed(Type::Float, truth.back());
    truth.push_back(Number::of(random.one_in(2)));
    env.backed(Type::Boolean, truth.back());
  }

  E expression(Type type, int depth) {
    return make(env.expressions(), random.tree(type, depth));
  }

  // Conditions as programs have them, more often than random ones.
  E condition() {
    Expressions& x = env.expressions();
    if (random.one_in(3)) return expression(Type::Boolean, 3);
    const auto any = [&] {
      return env
          .symbol(
              SymbolId(static_cast<size_t>(random.between(0, random.ints - 1))))
          .expression;
    };
    const auto number = [&] { return x.integer(random.between(-3, 8)); };
    switch (random.between(0, 7)) {
      case 0:
        return x.equal(any(), any());
      case 1:
        return x.equal(any(), number());
      case 2:
        return x.less_equal(any(), number());
      case 3:
        return x.less(number(), any());
      case 4:
        return x.equal(
            x.make(Operation::Modulo, any(), x.integer(random.between(2, 4))),
            x.integer(random.between(0, 1)));
      case 5:
        return x.less_equal(
            x.add(any(), number()),
            x.multiply(any(), x.integer(random.between(-2, 3))));
      case 6:
        return x.equal(x.add(any(), number()), x.add(any(), any()));
      default: {
        const E y = any();
        return x.equal(x.make(Operation::Modulo, x.multiply(any(), any()), y),
                       x.integer(0));
      }
    }
  }

  void step() {
    const E c = condition();
    if (!c) return;
    const Value actual = evaluate(c, truth);
    if (!actual.is_present()) return;
    const bool is_true = actual.integer != 0;
    switch (random.between(0, 5)) {
      case 0:
      case 1:
        if (const auto answer = env.decide(c)) keep(c, *answer);
        break;
      case 2:
        if (const auto answer = env.known(c)) keep(c, *answer);
        break;
      case 3: {
        const E e = expression(random.type(), 2);
        if (!e || !evaluate(e, truth).is_present()) break;
        const auto value = env.specialize(e);
        if (value) same_as(e, env.expressions().constant(e->type, *value));
        break;
      }
      case 4: {
        if (!env.has_unbacked(c)) break;
        const E true_one = is_true ? c : env.expressions().logical_not(c);
        EXPECT_TRUE(env.assume(true_one)) << show(true_one);
        assumed.push_back(true_one);
        break;
      }
      default: {
        const E e = expression(random.type(), 3);
        if (!e) break;
        same_as(e, env.simplify(e));
        if (e->type != Type::Float) ranges.push_back({e, env.range(e)});
        break;
      }
    }
  }

  void keep(E condition, bool answer) {
    same_as(condition, env.expressions().boolean(answer));
  }
  void same_as(E e, E other) { answers.push_back({e, other}); }

  // Whether the compiled code would be run, and the graph's checks succeed.
  bool accepts(const std::vector<Decision>& guards, const Assignment& symbols) {
    for (const Decision& guard : guards) {
      if (!holds(guard.condition, symbols)) return false;
    }
    for (E condition : assumed) {
      if (!holds(condition, symbols)) return false;
    }
    return true;
  }

  void expect_right(const Assignment& symbols) {
    for (const auto& [e, other] : answers) {
      const Value direct = evaluate(e, symbols);
      const Value answered = evaluate(other, symbols);
      if (!direct.is_present() || answered.kind == Value::TooLarge) continue;
      ASSERT_TRUE(answered.is_present() && direct.same(answered))
          << show(e) << " was answered with " << show(other)
          << describe(symbols);
    }
    for (const auto& [e, range] : ranges) {
      const Value direct = evaluate(e, symbols);
      if (!direct.is_present()) continue;
      ASSERT_TRUE(
          (range.least == Range::kLeast || direct.integer >= range.least) &&
          (range.most == Range::kMost || direct.integer <= range.most))
          << show(e) << " in [" << range.least << ", " << range.most << "]"
          << describe(symbols);
    }
  }

  std::string describe(const Assignment& symbols) {
    std::string text = "\nfor";
    for (Number value : symbols) text += " " + std::to_string(value.integer());
    text += ", traced for";
    for (Number value : truth) text += " " + std::to_string(value.integer());
    for (const Decision& decision : env.decisions()) {
      text += "\ndecided: " + show(decision.condition);
    }
    for (E condition : assumed) text += "\nassumed: " + show(condition);
    for (const Decision& guard : env.guards()) {
      text += "\nguard: " + show(guard.condition);
    }
    return text;
  }

  Environment env;
  Random& random;
  Assignment truth;
  std::vector<E> assumed;
  std::vector<std::pair<E, E>> answers;
  std::vector<std::pair<E, Range>> ranges;
};

int rounds(int usual) {
  const char* factor = std::getenv("MAGNETO_ROUNDS");
  return factor ? usual * std::atoi(factor) : usual;
}

TEST(Environment, WhatAlwaysHoldsNeedsNoGuard) {
  Environment env(nullptr);
  Expressions& e = env.expressions();
  const E size = env.backed(Type::Integer, Number::of(int64_t{5}),
                            {2, Range::kMost}, {0, int64_t{1} << 62});
  const E stride =
      env.backed(Type::Integer, Number::of(int64_t{5}), {}, {0, 1000});
  EXPECT_EQ(env.known(e.less(size, e.integer(Range::kMost))), true);
  EXPECT_EQ(env.known(e.less(stride, e.integer(0))), false);
  EXPECT_EQ(env.decide(e.less_equal(stride, e.integer(1000))), true);
  ASSERT_EQ(env.guards().size(), 1u);
  EXPECT_EQ(env.guards()[0].condition, e.less_equal(e.integer(2), size));
}

TEST(Environment, AnswersFollowFromGuards) {
  Random random(static_cast<uint32_t>(rounds(11)));
  size_t accepted = 0;
  for (int round = 0; round < rounds(250); ++round) {
    Trace trace(random, nullptr);
    const int64_t steps = random.between(1, 14);
    for (int64_t i = 0; i < steps; ++i) trace.step();
    const std::vector<Decision> guards = trace.env.guards();
    for (const Decision& guard : guards) {
      ASSERT_FALSE(trace.env.has_unbacked(guard.condition));
    }
    ASSERT_TRUE(trace.accepts(guards, trace.truth))
        << trace.describe(trace.truth);
    Assignment symbols = trace.truth;
    for (int64_t a = kLeastValue; a <= kMostValue; ++a) {
      for (int64_t b = kLeastValue; b <= kMostValue; ++b) {
        for (int64_t c = kLeastValue; c <= kMostValue; ++c) {
          symbols[0] = Number::of(a);
          symbols[1] = Number::of(b);
          symbols[2] = Number::of(c);
          if (random.one_in(2)) symbols[3] = Number::of(random.real());
          symbols[4] = Number::of(random.one_in(2));
          if (!trace.accepts(guards, symbols)) continue;
          ++accepted;
          trace.expect_right(symbols);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(accepted, 1000u);
}

// All that an environment says, as text.
std::string dump(Environment& env, std::span<const E> questions) {
  std::string text;
  for (E e : questions) {
    text += show(env.simplify(e));
    if (e->type != Type::Float) {
      const Range range = env.range(e);
      text +=
          " " + std::to_string(range.least) + " " + std::to_string(range.most);
    }
    if (e->type == Type::Boolean) {
      const auto known = env.known(e);
      text += known ? (*known ? " true" : " false") : " unknown";
    }
    text += "\n";
  }
  for (const Decision& decision : env.decisions()) {
    text += show(decision.condition) + "\n";
  }
  text += "guards\n";
  for (const Decision& guard : env.guards())
    text += show(guard.condition) + "\n";
  return text + std::to_string(env.symbol_count());
}

TEST(Environment, RollsBack) {
  Random random(12);
  for (int round = 0; round < rounds(1500); ++round) {
    Journal journal;
    Trace trace(random, &journal);
    std::vector<E> questions;
    for (int i = 0; i < 12; ++i) {
      const E e =
          i % 2 ? trace.condition() : trace.expression(random.type(), 3);
      if (e) questions.push_back(e);
    }
    std::vector<std::pair<Journal::Position, std::string>> positions;
    for (int i = 0; i < 4; ++i) {
      positions.push_back({journal.position(), dump(trace.env, questions)});
      for (int step = 0; step < 3; ++step) trace.step();
      if (random.one_in(3)) {
        trace.env.backed(Type::Integer, Number::of(int64_t{4}), {2, 9});
      }
    }
    while (!positions.empty()) {
      journal.rollback(positions.back().first);
      ASSERT_EQ(dump(trace.env, questions), positions.back().second);
      positions.pop_back();
    }
  }
}

class Facts : public ::testing::Test {
 protected:
  Environment env{nullptr};
  Expressions& x = env.expressions();
  E size(int64_t hint) {
    return env.backed(Type::Integer, Number::of(hint), {2, Range::kMost});
  }
  E n(int64_t value) { return x.integer(value); }
  E op(Operation operation, E a, E b) { return x.make(operation, a, b); }
  std::string guards() {
    std::string text;
    for (const Decision& guard : env.guards()) {
      text += (text.empty() ? "" : "; ") + show(guard.condition);
    }
    return text;
  }
};

TEST_F(Facts, EqualSizesAreOne) {
  const E a = size(8), b = size(8), c = size(8);
  EXPECT_EQ(env.decide(x.equal(a, b)), true);
  EXPECT_EQ(env.decide(x.equal(c, b)), true);
  EXPECT_EQ(env.simplify(c), a);
  EXPECT_EQ(env.known(x.equal(a, c)), true);
  EXPECT_EQ(env.decide(x.equal(x.multiply(a, n(2)), x.add(b, c))), true);
  EXPECT_EQ(guards(), "s0 >= 2; s0 == s1; s1 == s2");
}

TEST_F(Facts, SpecializedSizesAreNumbers) {
  const E a = size(8), b = size(4);
  EXPECT_EQ(env.specialize(x.add(a, b))->integer(), 12);
  EXPECT_EQ(env.specialize(a)->integer(), 8);
  EXPECT_EQ(env.simplify(b), n(4));
  EXPECT_EQ(env.decide(x.less(b, a)), true);
  EXPECT_EQ(guards(), "s0 + s1 == 12; s0 == 8");
}

TEST_F(Facts, BoundsAreTheTightest) {
  const E a = size(20), b = size(3);
  for (int64_t bound : {5, 10, 7}) {
    EXPECT_EQ(env.decide(x.less(n(bound), a)), true);
  }
  EXPECT_EQ(env.decide(x.less(a, n(100))), true);
  EXPECT_EQ(env.decide(x.less(a, n(50))), true);
  EXPECT_EQ(env.decide(x.less_equal(b, a)), true);
  EXPECT_EQ(env.known(x.less_equal(b, x.add(a, n(3)))), true);
  EXPECT_EQ(env.known(x.less(x.add(a, n(3)), b)), false);
  EXPECT_EQ(env.known(x.less(b, a)), std::nullopt);
  EXPECT_EQ(guards(), "s1 >= 2; s0 >= 11; s0 <= 49; s1 <= s0");
}

TEST_F(Facts, MultiplesDivide) {
  const E a = size(24);
  const E b = size(5);
  const E heads = op(Operation::FloorDivide, a, n(4));
  EXPECT_EQ(env.decide(x.equal(x.multiply(heads, n(4)), a)), true);
  EXPECT_EQ(env.known(x.equal(op(Operation::Modulo, a, n(4)), n(0))), true);
  EXPECT_EQ(env.known(x.equal(op(Operation::Modulo, a, n(2)), n(0))), true);
  EXPECT_EQ(
      env.known(x.equal(op(Operation::Modulo, x.multiply(a, b), n(4)), n(0))),
      true);
  EXPECT_EQ(env.simplify(x.multiply(heads, n(8))), x.multiply(a, n(2)));
  const E half = op(Operation::FloorDivide, a, n(2));
  EXPECT_EQ(env.known(x.equal(half, x.multiply(heads, n(2)))), true);
  EXPECT_EQ(env.known(x.equal(half, x.add(heads, heads))), true);
  EXPECT_EQ(guards(), "s0 >= 2; s1 >= 2; s0 % 4 == 0");
}

TEST_F(Facts, SymbolicDivisorsDivide) {
  const E a = size(24), b = size(6);
  EXPECT_EQ(env.decide(x.equal(op(Operation::Modulo, a, b), n(0))), true);
  EXPECT_EQ(env.simplify(x.multiply(op(Operation::FloorDivide, a, b), b)), a);
}

TEST_F(Facts, GraphNumbersBecomeSizes) {
  const E a = size(8);
  const E u = env.unbacked(Type::Integer, {0, Range::kMost});
  EXPECT_EQ(env.decide(x.equal(u, n(0))), std::nullopt);
  EXPECT_EQ(env.known(x.less(u, n(0))), false);
  EXPECT_TRUE(env.assume(x.equal(u, x.multiply(a, n(2)))));
  EXPECT_EQ(env.simplify(u), x.multiply(a, n(2)));
  EXPECT_EQ(env.hint(u), std::nullopt);
  EXPECT_EQ(env.decide(x.less(n(10), u)), true);
  EXPECT_FALSE(env.assume(x.equal(u, n(3))));
  EXPECT_EQ(guards(), "s0 >= 6");
}

TEST_F(Facts, AssumptionsImplyNoGuard) {
  const E a = size(8);
  EXPECT_EQ(env.decide(x.less_equal(a, n(10))), true);
  EXPECT_TRUE(env.assume(x.less_equal(a, n(9))));
  EXPECT_EQ(env.known(x.less_equal(a, n(9))), true);
  EXPECT_EQ(guards(), "s0 >= 2; s0 <= 10");
}

TEST_F(Facts, FloatsAreSpecializedByTheirBits) {
  const E zero = env.backed(Type::Float, Number::of(-0.0));
  const E nan = env.backed(Type::Float, Number::of(double(NAN)));
  const E half = env.backed(Type::Float, Number::of(0.5));
  EXPECT_TRUE(std::signbit(env.specialize(zero)->real()));
  EXPECT_TRUE(std::isnan(env.specialize(nan)->real()));
  EXPECT_EQ(env.specialize(half)->real(), 0.5);
  EXPECT_EQ(env.simplify(x.add(half, half)), x.real(1.0));
  EXPECT_EQ(env.simplify(zero), x.real(-0.0));
  EXPECT_EQ(guards(),
            "copysign(1.0, s0) == -1.0 and s0 == 0.0; s1 != s1; s2 == 0.5");
}

TEST_F(Facts, ComparisonsOfProductsDivideOut) {
  const E a = size(8), b = size(6), c = size(5);
  const E ab = x.multiply(a, b);
  EXPECT_EQ(env.known(x.equal(ab, b)), false);
  EXPECT_EQ(env.known(x.less(b, ab)), true);
  EXPECT_EQ(env.known(x.equal(x.multiply(ab, c), x.multiply(c, b))), false);
  EXPECT_EQ(env.decide(x.equal(x.multiply(a, c), x.multiply(b, c))), false);
  EXPECT_EQ(env.known(x.equal(a, b)), false);
  // Not where the factor may be 0.
  const E z =
      env.backed(Type::Integer, Number::of(int64_t{3}), {0, Range::kMost});
  EXPECT_EQ(env.known(x.equal(x.multiply(a, z), z)), std::nullopt);
}

TEST_F(Facts, OneFactHelpsAnother) {
  const E a = size(8), b = size(9), c = size(10), d = size(30);
  EXPECT_EQ(env.decide(x.less(a, b)), true);
  EXPECT_EQ(env.decide(x.less_equal(b, c)), true);
  EXPECT_EQ(env.known(x.less(a, c)), true);
  EXPECT_EQ(env.known(x.equal(a, c)), false);
  EXPECT_EQ(env.known(x.less_equal(c, a)), false);
  EXPECT_EQ(env.known(x.less(x.multiply(n(2), a), x.multiply(n(2), b))), true);
  EXPECT_EQ(env.known(x.less(x.add(a, n(1)), b)), std::nullopt);
  // A relation that can't be solved for one symbol.
  const E product = x.multiply(a, d);
  EXPECT_EQ(env.decide(x.equal(product, x.multiply(n(24), c))), true);
  EXPECT_EQ(env.known(x.equal(x.multiply(n(48), c), x.multiply(n(2), product))),
            true);
  EXPECT_EQ(env.known(x.less(x.add(product, n(1)), x.multiply(n(24), c))),
            false);
}

TEST_F(Facts, ExtremaAndDivisionsAreBounded) {
  const E a = size(8), b = size(9);
  const E least = op(Operation::Minimum, a, b);
  const E most = op(Operation::Maximum, a, n(5));
  EXPECT_EQ(env.known(x.less_equal(least, a)), true);
  EXPECT_EQ(env.known(x.less_equal(n(5), most)), true);
  EXPECT_EQ(env.known(x.less(most, a)), false);
  EXPECT_EQ(env.known(x.less_equal(least, x.add(b, n(1)))), true);
  EXPECT_EQ(env.simplify(op(Operation::Minimum, least, n(1))), n(1));
  const E half = op(Operation::FloorDivide, a, n(2));
  EXPECT_EQ(env.known(x.less(half, a)), true);
  EXPECT_EQ(env.known(x.less_equal(x.multiply(half, n(2)), a)), true);
  EXPECT_EQ(env.known(x.less(a, x.multiply(half, n(2)))), false);
  EXPECT_EQ(env.known(x.less(x.add(x.multiply(half, n(2)), n(1)), a)), false);
  EXPECT_EQ(env.known(x.less(x.multiply(half, n(2)), a)), std::nullopt);
}

TEST_F(Facts, BoundsSpreadOverRelations) {
  const E a = size(8), b = size(20);
  EXPECT_EQ(env.decide(x.less_equal(a, n(12))), true);
  EXPECT_EQ(env.decide(x.less_equal(x.multiply(n(2), b), x.multiply(a, n(5)))),
            true);
  EXPECT_EQ(env.range(b), (Range{2, 30}));
  EXPECT_EQ(env.decide(x.less_equal(x.add(a, n(3)), b)), true);
  EXPECT_EQ(env.range(b), (Range{5, 30}));
  EXPECT_EQ(guards(),
            "s0 >= 2; s1 >= 2; s0 <= 12; 2 * s1 <= 5 * s0; s0 + 3 <= s1");
}

TEST_F(Facts, ASymbolOfTheCallIsNeverReplacedByOneOfTheGraph) {
  const E a = size(8);
  const E u = env.unbacked(Type::Integer), v = env.unbacked(Type::Integer);
  EXPECT_TRUE(env.assume(x.equal(x.multiply(n(2), u), a)));
  EXPECT_EQ(env.simplify(a), a);
  EXPECT_EQ(env.known(x.equal(a, x.add(u, u))), true);
  EXPECT_TRUE(env.assume(x.equal(u, v)));
  EXPECT_EQ(env.simplify(v), u);
  EXPECT_EQ(env.known(x.equal(a, x.add(v, u))), true);
  EXPECT_TRUE(env.assume(x.equal(v, n(4))));
  EXPECT_EQ(env.simplify(u), n(4));
  EXPECT_EQ(guards(), "s0 >= 2");
}

TEST_F(Facts, RollingBackMakesSymbolsAnew) {
  Journal journal;
  Environment own(&journal);
  const auto begin = journal.position();
  const E first = own.backed(Type::Integer, Number::of(int64_t{5}), {2, 9});
  EXPECT_EQ(own.hint(first)->integer(), 5);
  EXPECT_EQ(own.specialize(first)->integer(), 5);
  journal.rollback(begin);
  const E second = own.unbacked(Type::Integer);
  EXPECT_EQ(own.hint(second), std::nullopt);
  EXPECT_TRUE(own.has_unbacked(second));
  EXPECT_EQ(own.range(second), Range{});
  EXPECT_EQ(own.simplify(second), second);
}

TEST_F(Facts, DecisionsKeepTheirPlace) {
  uint32_t place = 3;
  env.set_place([&] { return place; });
  const E a = size(8), b = size(9);
  place = 7;
  env.decide(x.less(a, b));
  place = 9;
  env.decide(x.equal(a, n(3)));
  const std::vector<Decision> guards = env.guards();
  ASSERT_EQ(guards.size(), 4u);
  EXPECT_EQ(guards[0].place, 3u);
  EXPECT_EQ(guards[2].place, 7u);
  EXPECT_EQ(guards[3].place, 9u);
  EXPECT_EQ(show(guards[3].condition), "s0 != 3");
}

TEST_F(Facts, SymbolsKeepTheirPlace) {
  const E before = env.unbacked(Type::Integer);
  env.set_place([] { return 5u; });
  const E a = size(8), u = env.unbacked(Type::Integer);
  EXPECT_EQ(env.place_of(before->symbol), kNoPlace);
  EXPECT_EQ(env.place_of(a->symbol), 5u);
  EXPECT_EQ(env.place_of(u->symbol), 5u);
}

// The call brings it, but nothing is decided by what it is.
TEST_F(Facts, GivenUnbackedSymbolsAreGuardedByWhatIsRequired) {
  const E a = size(8);
  const E u = env.unbacked(Type::Integer, {0, Range::kMost}, true);
  EXPECT_TRUE(env.symbol(u->symbol).is_given);
  EXPECT_FALSE(env.symbol(u->symbol).is_backed);
  EXPECT_EQ(env.decide(x.less(u, n(4))), std::nullopt);
  EXPECT_EQ(env.specialize(u), std::nullopt);
  env.require(x.less_equal(n(0), u));  // known
  env.require(x.less_equal(u, n(9)));
  env.require(x.equal(a, x.multiply(u, n(2))));
  EXPECT_EQ(env.range(u), (Range{0, 9}));
  std::vector<std::string> texts;
  for (const Decision& guard : env.guards())
    texts.push_back(show(guard.condition));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"s0 >= 2", "s1 <= 9", "s0 == 2 * s1"}));
}

TEST_F(Facts, UsersNamesAreShownWhereThereAreSome) {
  const E a = size(8), u = env.unbacked(Type::Integer);
  EXPECT_EQ(env.show_to_user(x.less(a, u)), "s0 + 1 <= u0");
  env.set_names([&](SymbolId id) {
    return std::string(id == a->symbol ? "t.size(0)" : "");
  });
  EXPECT_EQ(env.show_to_user(x.less(a, u)), "t.size(0) + 1 <= u0");
  EXPECT_EQ(env.show(x.less(a, u)), "s0 + 1 <= u0");
}

}  // namespace
}  // namespace magneto::shapes
