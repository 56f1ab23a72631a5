// SPDX-License-Identifier: BSD-3-Clause
#include "support/journaled.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace magneto {
namespace {

TEST(Journaled, RollbackGivesBackVariablesListsAndMaps) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Journal journal;
    JournaledValue<int> number(journal, 1);
    JournaledValue<bool> flag(journal);
    JournaledList<std::string> list(journal);
    JournaledMap<int, std::string> map(journal);
    const auto write_some = [&] {
      for (size_t n = random() % 40; n > 0; --n) {
        const auto value = static_cast<int>(random() % 8);
        switch (random() % 4) {
          case 0:
            number = value;
            break;
          case 1:
            flag = value % 2 != 0;
            break;
          case 2:
            list.push_back(std::to_string(value));
            break;
          default:
            if (random() % 2)
              map.add(value, std::to_string(n));
            else
              map.set(value, std::to_string(n));
        }
      }
    };
    const auto dump = [&] {
      std::string text = std::to_string(number) + std::to_string(flag);
      for (const std::string& item : list) text += " " + item;
      for (int key = 0; key < 8; ++key)
        text += map.contains(key) ? ", " + *map.find(key) : ", none";
      return text;
    };
    write_some();
    const Journal::Position checkpoint = journal.position();
    const std::string before = dump();
    write_some();
    journal.rollback(checkpoint);
    EXPECT_EQ(dump(), before);
  }
}

TEST(Journaled, WhatDoesNotChangeLeavesNoRecord) {
  Journal journal;
  JournaledValue<int> number(journal, 3);
  number = 3;
  EXPECT_EQ(journal.position(), 0u);
  EXPECT_EQ(number.exchange(4), 3);
  EXPECT_EQ(number.get(), 4);
  EXPECT_EQ(journal.position(), 1u);
}

TEST(Journaled, AKeyKeepsItsFirstValue) {
  Journal journal;
  JournaledMap<int, int> map(journal);
  map.add(1, 10);
  map.add(1, 20);
  EXPECT_EQ(*map.find(1), 10);
  EXPECT_EQ(map.find(2), nullptr);
  journal.rollback(0);
  EXPECT_FALSE(map.contains(1));
}

}  // namespace
}  // namespace magneto
