// SPDX-License-Identifier: BSD-3-Clause
#include "support/check.h"

#include <gtest/gtest.h>

namespace magneto {
namespace {

TEST(Check, PassesWhatHolds) { EXPECT_NO_THROW(MG_CHECK(1 + 1 == 2, "sum")); }

TEST(Check, ThrowsWithTheSentenceTheConditionAndThePlace) {
  try {
    MG_CHECK(1 > 2, "one is the larger");
    FAIL();
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("one is the larger"), std::string::npos);
    EXPECT_NE(text.find("1 > 2"), std::string::npos);
    EXPECT_NE(text.find("check_test.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace magneto
