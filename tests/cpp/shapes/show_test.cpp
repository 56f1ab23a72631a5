// SPDX-License-Identifier: BSD-3-Clause
// How expressions read, and with that what make() gives.
#include "shapes/show.h"

#include <gtest/gtest.h>

#include "shapes/environment.h"

namespace magneto::shapes {
namespace {

TEST(Show, Terms) {
  Environment env(nullptr);
  Expressions& x = env.expressions();
  const E a = env.backed(Type::Integer, Number::of(int64_t{8}));
  const E b = env.backed(Type::Integer, Number::of(int64_t{17}));
  const auto i = [&](int64_t value) { return x.integer(value); };
  const E twice = x.add(x.multiply(i(2), a), i(1));
  EXPECT_EQ(show(x.less_equal(twice, b)), "2 * s0 + 1 <= s1");
  EXPECT_EQ(show(x.equal(a, b)), "s0 == s1");
  EXPECT_EQ(show(x.less_equal(i(4), a)), "s0 >= 4");
  EXPECT_EQ(show(x.equal(x.make(Operation::Modulo, a, i(2)), i(0))),
            "s0 % 2 == 0");
  EXPECT_EQ(show(x.logical_not(x.equal(a, i(3)))), "s0 != 3");
  EXPECT_EQ(show(x.subtract(b, a)), "s1 - s0");
  EXPECT_EQ(show(x.make(Operation::FloorDivide, twice, i(4))), "s0 // 2");
}

// Written out, each step is longer than twice the one before.
TEST(Show, SharedParts) {
  Environment env(nullptr);
  Expressions& x = env.expressions();
  E number = env.backed(Type::Integer, Number::of(int64_t{8}));
  for (int64_t step = 1; step <= 60; ++step)
    number = x.make(Operation::FloorDivide, x.add(number, x.integer(step)),
                    x.add(number, x.integer(step + 1)));
  const std::string text = show(number);
  EXPECT_LT(text.size(), 10'000u);
  EXPECT_NE(text.find("..."), std::string::npos);
}

}  // namespace
}  // namespace magneto::shapes
