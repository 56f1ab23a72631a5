// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/liveness.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "raw_fixture.h"

namespace magneto::bytecode {
namespace {

using Locals = std::vector<int32_t>;

TEST(Liveness, AWriteKillsAndAReadRevives) {
  const Code code = code_of({
      {Op::LoadFast, 0},   // 0
      {Op::StoreFast, 1},  // 1
      {Op::LoadFast, 1},   // 2
      {Op::ReturnValue},   // 3
  });
  const Liveness live(code);
  EXPECT_EQ(live.live_at(0), (Locals{0}));
  EXPECT_EQ(live.live_at(1), (Locals{}));
  EXPECT_EQ(live.live_at(2), (Locals{1}));
  EXPECT_EQ(live.live_at(3), (Locals{}));
  EXPECT_TRUE(live.is_live(2, 1));
  EXPECT_FALSE(live.is_live(1, 1));
}

TEST(Liveness, LoopsCarryBackWhatTheNextRoundReads) {
  const Code code = code_of({
      {Op::LoadFast, 0},   // 0
      {Op::GetIter},       // 1
      {Op::ForIter, 8},    // 2
      {Op::StoreFast, 1},  // 3
      {Op::LoadFast, 2},   // 4
      {Op::LoadFast, 1},   // 5
      {Op::BinaryOp, 0},   // 6
      {Op::Jump, 9},       // 7
      {Op::Jump, 11},      // 8
      {Op::StoreFast, 2},  // 9
      {Op::Jump, 2},       // 10
      {Op::LoadFast, 2},   // 11
      {Op::ReturnValue},   // 12
  });
  const Liveness live(code);
  EXPECT_EQ(live.live_at(0), (Locals{0, 2}));
  EXPECT_EQ(live.live_at(2), (Locals{2}));
  EXPECT_EQ(live.live_at(4), (Locals{1, 2}));
  EXPECT_EQ(live.live_at(7), (Locals{}));
  EXPECT_EQ(live.live_at(10), (Locals{2}));
}

TEST(Liveness, CellsAreLiveWhereTheCellIsNeeded) {
  const Code code = code_of({
      {Op::MakeCell, 0},     // 0: takes the argument in
      {Op::LoadConst, 0},    // 1
      {Op::StoreDeref, 0},   // 2: needs the cell
      {Op::LoadClosure, 1},  // 3
      {Op::LoadDeref, 2},    // 4
      {Op::DeleteDeref, 2},  // 5
      {Op::ReturnValue},     // 6
  });
  const Liveness live(code);
  EXPECT_EQ(live.live_at(0), (Locals{0, 1, 2}));
  EXPECT_EQ(live.live_at(2), (Locals{0, 1, 2}));
  EXPECT_EQ(live.live_at(3), (Locals{1, 2}));
  EXPECT_EQ(live.live_at(5), (Locals{2}));
  EXPECT_EQ(live.live_at(6), (Locals{}));
}

TEST(Liveness, DeletingReadsAndEndsALocal) {
  const Code code = code_of(
      {{Op::Nop}, {Op::DeleteFast, 0}, {Op::LoadConst, 0}, {Op::ReturnValue}});
  const Liveness live(code);
  EXPECT_EQ(live.live_at(0), (Locals{0}));
  EXPECT_EQ(live.live_at(2), (Locals{}));
}

TEST(Liveness, WhatAHandlerReadsIsLiveInAllThatItCovers) {
  const Code code = code_of(
      {
          {Op::LoadConst, 0},  // 0
          {Op::StoreFast, 0},  // 1
          {Op::LoadConst, 1},  // 2: covered
          {Op::StoreFast, 0},  // 3: covered; until here the old value counts
          {Op::LoadConst, 0},  // 4
          {Op::ReturnValue},   // 5
          {Op::PushExcInfo},   // 6: the handler
          {Op::LoadFast, 0},   // 7
          {Op::ReturnValue},   // 8
      },
      {{2, 4, 6, 0, false}});
  const Liveness live(code);
  EXPECT_EQ(live.live_at(1), (Locals{}));
  EXPECT_EQ(live.live_at(2), (Locals{0}));
  EXPECT_EQ(live.live_at(3), (Locals{0}));
  EXPECT_EQ(live.live_at(4), (Locals{}));
  EXPECT_EQ(live.live_at(6), (Locals{0}));
}

TEST(Liveness, PinnedLocalsAreLiveEverywhere) {
  const Code code = code_of({{Op::LoadConst, 0},
                             {Op::StoreFast, 3},
                             {Op::LoadConst, 0},
                             {Op::ReturnValue}});
  const int32_t pinned[] = {3, 5};
  const Liveness live(code, pinned);
  for (int32_t i = 0; i < code.size(); ++i) {
    EXPECT_EQ(live.live_at(i), (Locals{3, 5})) << i;
  }
}

TEST(Liveness, CodeWithoutLocals) {
  Code code = code_of({{Op::LoadConst, 0}, {Op::ReturnValue}});
  code.local_count = 0;
  EXPECT_EQ(Liveness(code).live_at(0), (Locals{}));
}

// Against the definition: some way onward reads the local before it writes it.
bool reads_before_writing(const Code& code, int32_t from, int32_t local) {
  std::set<int32_t> seen;
  std::vector<int32_t> pending = {from};
  while (!pending.empty()) {
    const int32_t i = pending.back();
    pending.pop_back();
    if (i >= code.size() || !seen.insert(i).second) continue;
    const Instruction& instruction = code[i];
    if (const Handler* handler = code.handler_for(i)) {
      pending.push_back(handler->target);
    }
    if (instruction.op == Op::LoadFast && instruction.arg == local) return true;
    if (instruction.op == Op::StoreFast && instruction.arg == local) continue;
    const OpInfo& op = info(instruction.op);
    if (op.jumps) pending.push_back(instruction.arg);
    if (!op.terminates) pending.push_back(i + 1);
  }
  return false;
}

TEST(Liveness, AgreesWithItsDefinitionOnRandomPrograms) {
  std::mt19937 random(4);
  auto below = [&](int32_t n) {
    return static_cast<int32_t>(random() % static_cast<uint32_t>(n));
  };
  for (int round = 0; round < 200; ++round) {
    const int32_t size = 2 + below(40);
    const int32_t locals = 60 + below(80);  // one, two or three words
    const int32_t used = 6;
    auto local = [&] { return below(used) * (locals - 1) / (used - 1); };
    Code code;
    code.local_count = locals;
    for (int32_t i = 0; i < size; ++i) {
      const Instruction choices[] = {{Op::LoadFast, local()},
                                     {Op::StoreFast, local()},
                                     {Op::Jump, below(size)},
                                     {Op::PopJumpIfTrue, below(size)},
                                     {Op::ReturnValue}};
      code.instructions.push_back(choices[below(5)]);
    }
    const int32_t start = below(size);
    if (below(2)) {
      code.handlers.push_back(
          {start, start + 1 + below(size - start), below(size), 0, false});
    }
    const Liveness live(code);
    for (int32_t i = 0; i < size; ++i) {
      for (int32_t slot = 0; slot < locals; ++slot) {
        ASSERT_EQ(live.is_live(i, slot), reads_before_writing(code, i, slot))
            << "round " << round << ", instruction " << i << ", slot " << slot;
      }
    }
  }
}

}  // namespace
}  // namespace magneto::bytecode
