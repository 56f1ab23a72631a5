// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/builder.h"

#include <gtest/gtest.h>

#include "raw_fixture.h"
#include "support/check.h"

namespace magneto::bytecode {
namespace {

Code decode_again(const EncodedCode& encoded) {
  RawCode raw;
  raw.bytecode = encoded.bytecode;
  raw.exception_table = encoded.exception_table;
  raw.line_table = encoded.line_table;
  raw.first_line = encoded.first_line;
  raw.local_count = 8;
  Code code = decode(running_version(), raw);
  code.positions();  // while `encoded` lives
  return code;
}

void expect_ops(const Code& code, const std::vector<Instruction>& expected) {
  ASSERT_EQ(code.size(), static_cast<int32_t>(expected.size()));
  for (int32_t i = 0; i < code.size(); ++i) {
    EXPECT_EQ(code[i].op, expected[static_cast<size_t>(i)].op) << i;
    EXPECT_EQ(code[i].arg, expected[static_cast<size_t>(i)].arg) << i;
    EXPECT_EQ(code[i].aux, expected[static_cast<size_t>(i)].aux) << i;
  }
}

// for x in a: print(x, **k)
Code loop_code() {
  return RawFixture()
      .op(RawOp::RESUME)
      .op(RawOp::LOAD_FAST, 0)
      .op(RawOp::GET_ITER)
      .op(RawOp::FOR_ITER, 18)
      .op(RawOp::STORE_FAST, 1)
      .op(RawOp::LOAD_GLOBAL, 1)
      .op(RawOp::LOAD_FAST, 1)
      .op(RawOp::KW_NAMES, 2)
      .op(RawOp::PRECALL, 1)
      .op(RawOp::CALL, 1)
      .op(RawOp::POP_TOP)
      .op(RawOp::JUMP_BACKWARD, 19)
      .op(RawOp::LOAD_CONST, 0)
      .op(RawOp::RETURN_VALUE)
      .decoded();
}

TEST(Builder, LabelsMayBeBoundAfterTheJump) {
  CodeBuilder b;
  const Label end = b.label(), start = b.label();
  b.bind(start);
  b.emit(Op::LoadConst, 0);
  b.jump(Op::PopJumpIfTrue, end);
  b.jump(Op::Jump, start);
  b.bind(end);
  b.emit(Op::LoadConst, 1);
  b.emit(Op::ReturnValue);
  const EncodedCode out = b.finish(running_version(), 5);
  EXPECT_EQ(out.first_line, 5);
  EXPECT_EQ(out.stack_size, 1);
  expect_ops(decode_again(out), {{Op::LoadConst, 0},
                                 {Op::PopJumpIfTrue, 3},
                                 {Op::Jump, 0},
                                 {Op::LoadConst, 1},
                                 {Op::ReturnValue}});
}

TEST(Builder, AWholeCopyIsTheOriginal) {
  const Code code = loop_code();
  CodeBuilder b;
  b.append(code, {});
  expect_ops(decode_again(b.finish(running_version(), 1)), code.instructions);
}

TEST(Builder, AResumeFunctionEntersInTheMiddle) {
  const Code code = loop_code();
  CodeBuilder b;
  const Label loop = b.label();
  b.emit(Op::Resume);
  b.emit(Op::LoadFast, 5);
  b.jump(Op::Jump, loop);
  const CodeBuilder::Anchor anchors[] = {{3, loop}};
  const int32_t locals[] = {6, 7}, consts[] = {3, -1, 4}, names[] = {9};
  b.append(
      code,
      {.anchors = anchors, .locals = locals, .consts = consts, .names = names});
  // What only the way before the loop reached is gone, and so is the jump.
  expect_ops(decode_again(b.finish(running_version(), 1)),
             {{Op::Resume},
              {Op::LoadFast, 5},
              {Op::ForIter, 9},
              {Op::StoreFast, 7},
              {Op::LoadGlobalNull, 9},
              {Op::LoadFast, 7},
              {Op::Call, 1, 4},
              {Op::PopTop},
              {Op::Jump, 2},
              {Op::LoadConst, 3},
              {Op::ReturnValue}});
}

TEST(Builder, APartialCopyLeavesThroughAnchors) {
  const Code code = loop_code();
  CodeBuilder b;
  const Label end = b.label(), again = b.label();
  b.emit(Op::LoadFast, 0);
  const CodeBuilder::Anchor anchors[] = {{10, end}, {3, again}};
  b.append(code, {.begin = 3, .end = 5, .anchors = anchors});
  b.jump(Op::Jump, again);
  b.bind(end);
  b.emit(Op::LoadConst, 6);
  b.emit(Op::ReturnValue);
  expect_ops(decode_again(b.finish(running_version(), 1)), {{Op::LoadFast, 0},
                                                            {Op::ForIter, 4},
                                                            {Op::StoreFast, 1},
                                                            {Op::Jump, 1},
                                                            {Op::LoadConst, 6},
                                                            {Op::ReturnValue}});
}

TEST(Builder, TheSameCodeMayBeCopiedTwice) {
  const Code code = loop_code();
  CodeBuilder b;
  const Label second = b.label();
  b.emit(Op::LoadConst, 9);
  b.jump(Op::PopJumpIfTrue, second);
  b.append(code, {});
  b.bind(second);
  b.append(code, {});
  const Code out = decode_again(b.finish(running_version(), 1));
  EXPECT_EQ(out.size(), 2 + 2 * code.size());
  EXPECT_EQ(out[1].arg, 2 + code.size());
  EXPECT_EQ(out[2 + code.size() + 3].arg, 2 + code.size() + 10);
}

Code code_with_handler() {
  Code code = code_of(
      {
          {Op::Resume},
          {Op::LoadFast, 0},  // 1, covered
          {Op::LoadAttr, 0},  // 2, covered
          {Op::ReturnValue},  // 3
          {Op::PushExcInfo},  // 4
          {Op::Reraise, 0},   // 5
      },
      {{1, 3, 4, 0, false}});
  return code;
}

TEST(Builder, HandlersAreCopiedWithWhatTheyCover) {
  const Code code = code_with_handler();
  CodeBuilder b;
  const Label middle = b.label();
  b.emit(Op::Resume);
  b.emit(Op::LoadConst, 1);
  b.jump(Op::Jump, middle);
  const CodeBuilder::Anchor anchors[] = {{2, middle}};
  b.append(code, {.anchors = anchors});
  const Code out = decode_again(b.finish(running_version(), 1));
  expect_ops(out, {{Op::Resume},
                   {Op::LoadConst, 1},
                   {Op::LoadAttr, 0},
                   {Op::ReturnValue},
                   {Op::PushExcInfo},
                   {Op::Reraise, 0}});
  EXPECT_EQ(out.handlers, (std::vector<Handler>{{2, 3, 4, 0, false}}));
}

TEST(Builder, HandlersMayBeLeftBehind) {
  const Code code = code_with_handler();
  CodeBuilder b;
  b.append(code, {.begin = 1, .end = 4, .handlers = false});
  const Code out = decode_again(b.finish(running_version(), 1));
  EXPECT_EQ(out.size(), 3);
  EXPECT_TRUE(out.handlers.empty());
}

TEST(Builder, TryRanges) {
  CodeBuilder b;
  const Label handler = b.label();
  b.emit(Op::LoadConst, 0);
  b.begin_try(handler, 1, true);
  b.emit(Op::LoadAttr, 0);
  b.end_try();
  b.begin_try(handler, 1, true);
  b.end_try();  // empty: nothing to say
  b.emit(Op::ReturnValue);
  b.bind(handler);
  b.emit(Op::Reraise, 1);
  const EncodedCode encoded = b.finish(running_version(), 1);
  const Code out = decode_again(encoded);
  EXPECT_EQ(out.handlers, (std::vector<Handler>{{1, 2, 3, 1, true}}));
  EXPECT_EQ(encoded.stack_size, 3);
}

TEST(Builder, PositionsGoWithTheInstructions) {
  RawFixture fixture;
  fixture.op(RawOp::LOAD_CONST, 0)
      .op(RawOp::KW_NAMES, 1)
      .op(RawOp::PRECALL, 0)
      .op(RawOp::CALL, 0)
      .op(RawOp::RETURN_VALUE);
  fixture.line_table = {0x80 | 10 << 3,     0, 1, 0x80 | 11 << 3, 2, 3,
                        0x80 | 11 << 3 | 6, 4, 5, 0x80 | 11 << 3, 6, 7};
  const Code code = fixture.decoded();
  ASSERT_EQ(code.position_table().keywords.size(), 1u);
  CodeBuilder b;
  b.set_position({40, 41, 1, 2});
  b.emit(Op::PushNull);
  const Label next = b.label();
  b.jump(Op::Jump, next);  // dropped: what follows moves up
  b.bind(next);
  b.append(code, {});
  const Code out = decode_again(b.finish(running_version(), 40));
  EXPECT_EQ(out.positions(),
            (std::vector<Position>{
                {40, 41, 1, 2}, {1, 1, 0, 1}, {3, 3, 4, 5}, {4, 4, 6, 7}}));
  EXPECT_EQ(out.position_table().keywords,
            (std::vector<PositionTable::Keywords>{{2, {2, 2, 2, 3}}}));
}

TEST(Builder, RefusesDefects) {
  const Code code = loop_code();
  {
    CodeBuilder b;
    EXPECT_THROW(b.emit(Op::Jump, 0), InternalError);
    EXPECT_THROW(b.jump(Op::Nop, b.label()), InternalError);
    EXPECT_THROW(b.bind(Label{7}), InternalError);
    const Label twice = b.label();
    b.bind(twice);
    EXPECT_THROW(b.bind(twice), InternalError);
  }
  {
    CodeBuilder b;  // a way out without an anchor
    EXPECT_THROW(b.append(code, {.begin = 3, .end = 5}), InternalError);
  }
  {
    CodeBuilder b;  // never bound
    b.jump(Op::Jump, b.label());
    EXPECT_THROW(b.finish(running_version(), 1), InternalError);
  }
  {
    CodeBuilder b;  // a dropped const that can be reached
    const int32_t consts[] = {-1, -1, -1};
    b.append(code, {.consts = consts});
    EXPECT_THROW(b.finish(running_version(), 1), InternalError);
  }
  {
    CodeBuilder b;  // runs off the end
    b.emit(Op::Nop);
    EXPECT_THROW(b.finish(running_version(), 1), InternalError);
  }
  {
    CodeBuilder b;
    const Label handler = b.label();
    b.begin_try(handler, 0, false);
    EXPECT_THROW(b.begin_try(handler, 0, false), InternalError);
    EXPECT_THROW(b.finish(running_version(), 1), InternalError);
  }
}

}  // namespace
}  // namespace magneto::bytecode
