// SPDX-License-Identifier: BSD-3-Clause
#include "support/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace magneto {
namespace {

struct Pair {
  uint32_t first;
  double second;
};

TEST(Arena, WhatIsMadeKeepsItsPlaceAndValue) {
  Arena arena;
  std::vector<Pair*> made;
  // Far more than one block of the arena.
  for (uint32_t i = 0; i < 100'000; ++i)
    made.push_back(arena.make<Pair>(i, i * 0.5));
  for (uint32_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i]->first, i);
    EXPECT_EQ(made[i]->second, i * 0.5);
  }
}

TEST(Arena, MadeObjectsAreAligned) {
  Arena arena;
  for (int i = 0; i < 100; ++i) {
    arena.make<char>('x');
    auto address = reinterpret_cast<uintptr_t>(arena.make<double>(1.0));
    EXPECT_EQ(address % alignof(double), 0u);
  }
}

TEST(Arena, CopyIsIndependentOfTheOriginal) {
  Arena arena;
  std::vector<int> original = {1, 2, 3};
  std::span<int> copy = arena.copy(std::span<const int>(original));
  original.assign(3, 0);
  EXPECT_EQ(std::vector<int>(copy.begin(), copy.end()),
            (std::vector<int>{1, 2, 3}));
}

TEST(Arena, CopyOfNothingIsEmpty) {
  Arena arena;
  EXPECT_TRUE(arena.copy(std::span<const int>{}).empty());
}

}  // namespace
}  // namespace magneto
