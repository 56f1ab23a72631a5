// SPDX-License-Identifier: BSD-3-Clause
#include "support/outcome.h"

#include <gtest/gtest.h>

namespace magneto {
namespace {

Outcome<int> half(int number) {
  if (number % 2) return Signal::Break;
  return number / 2;
}

Outcome<int> quarter(int number) {
  MG_TRY(int once, half(number));
  MG_TRY(int twice, half(once));
  return twice;
}

Status need_even(int number) {
  MG_DO(half(number));
  return done;
}

TEST(Outcome, CarriesAValue) {
  Outcome<int> outcome = quarter(12);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, 3);
}

TEST(Outcome, TryHandsTheSignalOn) {
  for (int number : {5, 6}) {
    Outcome<int> outcome = quarter(number);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.signal(), Signal::Break);
  }
}

TEST(Outcome, DoHandsTheSignalOn) {
  EXPECT_TRUE(need_even(2));
  EXPECT_EQ(need_even(3).signal(), Signal::Break);
}

static_assert(sizeof(Outcome<void*>) == 2 * sizeof(void*));

}  // namespace
}  // namespace magneto
