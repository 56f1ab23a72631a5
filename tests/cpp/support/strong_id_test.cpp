// SPDX-License-Identifier: BSD-3-Clause
#include "support/strong_id.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace magneto {
namespace {

using Apple = StrongId<struct AppleTag>;
using Pear = StrongId<struct PearTag>;

static_assert(sizeof(Apple) == 4);
static_assert(!std::is_convertible_v<Apple, Pear>);
static_assert(!std::is_convertible_v<size_t, Apple>);

TEST(StrongId, RefersToNothingUntilItIsSet) {
  EXPECT_FALSE(Apple().valid());
  EXPECT_TRUE(Apple(size_t{0}).valid());
}

TEST(StrongId, ComparesAndHashesAsItsIndex) {
  std::unordered_set<Apple> set = {Apple(size_t{1}), Apple(size_t{2}),
                                   Apple(size_t{1})};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_LT(Apple(size_t{1}), Apple(size_t{2}));
}

}  // namespace
}  // namespace magneto
