// SPDX-License-Identifier: BSD-3-Clause
// (Over every function of the standard library, stack sizes are compared with
// CPython's own by tests/python/language/test_bytecode.py.)
#include "bytecode/stack_effect.h"

#include <gtest/gtest.h>

#include "support/check.h"

namespace magneto::bytecode {
namespace {

int32_t effect(Op op, int32_t arg = 0, bool jumps = false) {
  return stack_effect({op, arg}, jumps);
}

TEST(StackEffect, DependsOnTheOperandWhereItCounts) {
  EXPECT_EQ(effect(Op::BuildTuple, 3), -2);
  EXPECT_EQ(effect(Op::BuildTuple, 0), 1);
  EXPECT_EQ(effect(Op::BuildMap, 2), -3);
  EXPECT_EQ(effect(Op::BuildSlice, 2), -1);
  EXPECT_EQ(effect(Op::BuildSlice, 3), -2);
  EXPECT_EQ(effect(Op::Call, 2), -3);
  EXPECT_EQ(effect(Op::CallFunctionEx, 0), -2);
  EXPECT_EQ(effect(Op::CallFunctionEx, 1), -3);
  EXPECT_EQ(effect(Op::MakeFunction, 0b1011), -3);
  EXPECT_EQ(effect(Op::FormatValue, 3), 0);
  EXPECT_EQ(effect(Op::FormatValue, 4), -1);
  EXPECT_EQ(effect(Op::UnpackSequence, 3), 2);
  EXPECT_EQ(effect(Op::UnpackEx, 2 | 1 << 8), 3);
  EXPECT_EQ(effect(Op::RaiseVarargs, 2), -2);
}

TEST(StackEffect, DependsOnTheWayTaken) {
  EXPECT_EQ(effect(Op::ForIter, 0, true), -1);
  EXPECT_EQ(effect(Op::ForIter, 0, false), 1);
  EXPECT_EQ(effect(Op::JumpIfTrueOrPop, 0, true), 0);
  EXPECT_EQ(effect(Op::JumpIfTrueOrPop, 0, false), -1);
  EXPECT_EQ(effect(Op::Send, 0, true), -1);
  EXPECT_EQ(effect(Op::Send, 0, false), 0);
}

TEST(StackDepths, FollowJumpsAndHandlers) {
  const std::vector<Instruction> code = {
      {Op::LoadConst},    // 0: 0
      {Op::GetIter},      // 1: 1
      {Op::ForIter, 6},   // 2: 1
      {Op::StoreFast},    // 3: 2
      {Op::Jump, 2},      // 4: 1
      {Op::Nop},          // 5: never
      {Op::LoadConst},    // 6: 0
      {Op::ReturnValue},  // 7: 1
      {Op::PushExcInfo},  // 8: iterator, exception
      {Op::Reraise, 0},   // 9
  };
  const std::vector<Handler> handlers = {{3, 4, 8, 1, false}};
  EXPECT_EQ(stack_depths(code, handlers),
            (std::vector<int32_t>{0, 1, 1, 2, 1, -1, 0, 1, 2, 3}));
  EXPECT_EQ(max_stack_depth(code, handlers), 3);
}

TEST(StackDepths, HandlersWithLastiGetOneMore) {
  const std::vector<Instruction> code = {
      {Op::LoadAttr}, {Op::Jump, 0}, {Op::Reraise, 1}};
  std::vector<Instruction> start = {{Op::LoadConst}};
  start.insert(start.end(), code.begin(), code.end());
  start[2].arg = 1;
  EXPECT_EQ(stack_depths(start, std::vector<Handler>{{1, 2, 3, 0, true}})[3],
            2);
}

TEST(StackDepths, RefusesDefects) {
  using Code = std::vector<Instruction>;
  const std::vector<Handler> none;
  // empty stack
  EXPECT_THROW(stack_depths(Code{{Op::PopTop}, {Op::Jump, 0}}, none),
               InternalError);
  // two depths at 0
  EXPECT_THROW(stack_depths(Code{{Op::LoadConst}, {Op::Jump, 0}}, none),
               InternalError);
  // off the end
  EXPECT_THROW(stack_depths(Code{{Op::Nop}}, none), InternalError);
}

}  // namespace
}  // namespace magneto::bytecode
