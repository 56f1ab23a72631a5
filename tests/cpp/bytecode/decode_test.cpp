// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/decode.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "raw_fixture.h"
#include "support/check.h"

namespace magneto::bytecode {
namespace {

TEST(Decode, InlineCachesAreDroppedAndOffsetsKept) {
  const Code code = RawFixture()
                        .op(RawOp::LOAD_FAST, 1)
                        .op(RawOp::LOAD_ATTR, 2)
                        .op(RawOp::RETURN_VALUE)
                        .decoded();
  ASSERT_EQ(code.size(), 3);
  EXPECT_EQ(code[0], (Instruction{Op::LoadFast, 1, -1, 0}));
  EXPECT_EQ(code[1], (Instruction{Op::LoadAttr, 2, -1, 1}));
  EXPECT_EQ(code[2], (Instruction{Op::ReturnValue, 0, -1, 6}));
}

TEST(Decode, ExtendedArgsAreFolded) {
  const Code code = RawFixture()
                        .op(RawOp::EXTENDED_ARG, 1)
                        .op(RawOp::EXTENDED_ARG, 2)
                        .op(RawOp::LOAD_CONST, 3)
                        .op(RawOp::LOAD_CONST, 4)
                        .decoded();
  ASSERT_EQ(code.size(), 2);
  EXPECT_EQ(code[0], (Instruction{Op::LoadConst, 0x010203, -1, 0}));
  EXPECT_EQ(code[1], (Instruction{Op::LoadConst, 4, -1, 3}));
}

TEST(Decode, LowBitOfLoadGlobalBecomesAnOp) {
  const Code code = RawFixture()
                        .op(RawOp::LOAD_GLOBAL, 5 << 1)
                        .op(RawOp::LOAD_GLOBAL, 5 << 1 | 1)
                        .decoded();
  EXPECT_EQ(code[0].op, Op::LoadGlobal);
  EXPECT_EQ(code[0].arg, 5);
  EXPECT_EQ(code[1].op, Op::LoadGlobalNull);
  EXPECT_EQ(code[1].arg, 5);
}

TEST(Decode, CallsAreFused) {
  const Code code = RawFixture()
                        .op(RawOp::PRECALL, 2)
                        .op(RawOp::CALL, 2)
                        .op(RawOp::KW_NAMES, 7)
                        .op(RawOp::PRECALL, 3)
                        .op(RawOp::CALL, 3)
                        .op(RawOp::RETURN_VALUE)
                        .decoded();
  ASSERT_EQ(code.size(), 3);
  EXPECT_EQ(code[0], (Instruction{Op::Call, 2, -1, 0}));
  EXPECT_EQ(code[1], (Instruction{Op::Call, 3, 7, 7}));
  EXPECT_EQ(code[2].offset, 15);
}

TEST(Decode, SpecialisedOpcodesMeanTheirBase) {
  RawFixture fixture;
  int32_t count = 0;
#define MG_RAW(number, name, caches, jump)
#define MG_RAW_FORM(raw_number, name, base)                                   \
  if (RawOp::base != RawOp::EXTENDED_ARG && RawOp::base != RawOp::CALL &&     \
      RawOp::base != RawOp::PRECALL && RawOp::base != RawOp::JUMP_BACKWARD) { \
    fixture.number(raw_number, 0).op(RawOp::base, 0);                         \
    ++count;                                                                  \
  }
#include "bytecode/v311/opcodes.inc"
#undef MG_RAW
#undef MG_RAW_FORM
  const Code code = fixture.decoded();
  ASSERT_EQ(code.size(), 2 * count);
  ASSERT_GT(count, 40);
  for (int32_t i = 0; i < count; ++i) {
    EXPECT_EQ(code[2 * i].op, code[2 * i + 1].op);
  }
}

TEST(Decode, SpecialisedFormsOfACallAreFusedToo) {
  RawFixture fixture;
  int32_t count = 0;
#define MG_RAW(number, name, caches, jump)
#define MG_RAW_FORM(raw_number, name, base)              \
  if (RawOp::base == RawOp::PRECALL) {                   \
    fixture.number(raw_number, 1).op(RawOp::CALL, 1);    \
    ++count;                                             \
  }                                                      \
  if (RawOp::base == RawOp::CALL) {                      \
    fixture.op(RawOp::PRECALL, 1).number(raw_number, 1); \
    ++count;                                             \
  }
#include "bytecode/v311/opcodes.inc"
#undef MG_RAW
#undef MG_RAW_FORM
  const Code code = fixture.decoded();
  ASSERT_EQ(code.size(), count);
  ASSERT_GT(count, 10);
  for (int32_t i = 0; i < count; ++i) {
    EXPECT_EQ(code[i].op, Op::Call);
    EXPECT_EQ(code[i].arg, 1);
  }
}

TEST(Decode, JumpsPointToInstructions) {
  const Code code = RawFixture()
                        .op(RawOp::LOAD_ATTR, 0)
                        .op(RawOp::POP_JUMP_FORWARD_IF_FALSE, 2)
                        .op(RawOp::JUMP_BACKWARD, 7)
                        .op(RawOp::JUMP_BACKWARD_NO_INTERRUPT, 8)
                        .op(RawOp::EXTENDED_ARG, 0)
                        .op(RawOp::NOP)
                        .op(RawOp::JUMP_BACKWARD, 3)
                        .decoded();
  EXPECT_EQ(code[1], (Instruction{Op::PopJumpIfFalse, 4, -1, 5}));
  EXPECT_EQ(code[2], (Instruction{Op::Jump, 0, -1, 6}));
  EXPECT_EQ(code[3], (Instruction{Op::Jump, 0, kNoInterruptCheck, 7}));
  EXPECT_EQ(code[5], (Instruction{Op::Jump, 4, -1, 10}));  // to its prefix
}

TEST(Decode, ExceptionTableIsReadInInstructions) {
  RawFixture fixture;
  fixture.op(RawOp::LOAD_ATTR, 0)
      .op(RawOp::LOAD_ATTR, 0)
      .op(RawOp::RETURN_VALUE)
      .op(RawOp::PUSH_EXC_INFO);
  // start 5, size 5, target 11, depth 3 with lasti
  fixture.exception_table = {0x80 | 5, 5, 11, 3 << 1 | 1};
  const Code code = fixture.decoded();
  ASSERT_EQ(code.handlers.size(), 1u);
  EXPECT_EQ(code.handlers[0], (Handler{1, 2, 3, 3, true}));
  EXPECT_EQ(code.handler_for(0), nullptr);
  EXPECT_EQ(code.handler_for(1), &code.handlers[0]);
  EXPECT_EQ(code.handler_for(2), nullptr);
}

TEST(Decode, HandlerForFindsTheRangeAmongMany) {
  const Code code = code_of(
      {}, {{1, 3, 10, 0, false}, {3, 4, 11, 0, false}, {7, 9, 12, 0, false}});
  const int32_t expected[] = {-1, 10, 10, 11, -1, -1, -1, 12, 12, -1};
  for (int32_t i = 0; i < 10; ++i) {
    const Handler* handler = code.handler_for(i);
    EXPECT_EQ(handler ? handler->target : -1, expected[i]) << i;
  }
}

TEST(Decode, PositionsOfEveryForm) {
  RawFixture fixture;
  for (int i = 0; i < 6; ++i) fixture.op(RawOp::NOP);
  fixture.line_table = {
      0x80 | 2 << 3,
      0x53,  // short: column 2*8+5, 3 wide
      0x80 | 11 << 3,
      4,
      9,  // one line further, columns 4 to 9
      0x80 | 13 << 3,
      3 << 1 | 1,  // no columns, three lines back
      0x80 | 14 << 3,
      0x40 | 8,
      3,
      2,
      11,
      21,              // long: 100 lines on, to 2 more
      0x80 | 15 << 3,  // none
      0x80 | 10 << 3,
      1,
      2,  // the line of the last that had one
  };
  const Code code = fixture.decoded();
  EXPECT_EQ(code.position(0), (Position{1, 1, 21, 24}));
  EXPECT_EQ(code.position(1), (Position{2, 2, 4, 9}));
  EXPECT_EQ(code.position(2), (Position{-1, -1, -1, -1}));
  EXPECT_EQ(code.position(3), (Position{99, 101, 10, 20}));
  EXPECT_EQ(code.position(4), (Position{}));
  EXPECT_EQ(code.position(5), (Position{99, 99, 1, 2}));
}

TEST(Decode, InstructionsBeyondTheLineTableHaveNoPosition) {
  RawFixture fixture;
  fixture.op(RawOp::NOP).op(RawOp::NOP);
  fixture.line_table = {0x80 | 10 << 3, 1, 2};
  const Code code = fixture.decoded();
  EXPECT_EQ(code.position(0), (Position{1, 1, 1, 2}));
  EXPECT_EQ(code.position(1), (Position{}));
}

TEST(Decode, KeywordNamesKeepTheirOwnPlace) {
  RawFixture fixture;
  fixture.op(RawOp::KW_NAMES, 1).op(RawOp::PRECALL, 1).op(RawOp::CALL, 1);
  fixture.line_table = {0x80 | 10 << 3,     1, 2,   // KW_NAMES, line 1
                        0x80 | 12 << 3 | 1, 3, 4,   // PRECALL, line 3
                        0x80 | 10 << 3 | 4, 3, 4};  // CALL
  const Code code = fixture.decoded();
  const PositionTable& table = code.position_table();
  EXPECT_EQ(table.all, (std::vector<Position>{{3, 3, 3, 4}}));
  ASSERT_EQ(table.keywords.size(), 1u);
  EXPECT_EQ(table.keywords[0], (PositionTable::Keywords{0, {1, 1, 1, 2}}));
}

TEST(Decode, IndexAtFindsTheInstructionOfAnyUnit) {
  const Code code = RawFixture()
                        .op(RawOp::NOP)
                        .op(RawOp::EXTENDED_ARG, 1)
                        .op(RawOp::LOAD_ATTR, 0)
                        .op(RawOp::NOP)
                        .decoded();
  const int32_t expected[] = {0, 1, 1, 1, 1, 1, 1, 2};
  for (int32_t unit = 0; unit < 8; ++unit) {
    EXPECT_EQ(code.index_at(unit), expected[unit]) << unit;
  }
  EXPECT_THROW(code.index_at(8), InternalError);
  EXPECT_THROW(code.index_at(-1), InternalError);
}

struct Malformed {
  const char* why;
  RawFixture fixture;
};

class DecodeMalformed : public testing::TestWithParam<Malformed> {};

TEST_P(DecodeMalformed, IsRefused) {
  EXPECT_THROW(GetParam().fixture.decoded(), InternalError);
}

RawFixture with_exceptions(std::initializer_list<uint8_t> table) {
  RawFixture fixture;
  for (int i = 0; i < 4; ++i) fixture.op(RawOp::NOP);
  fixture.exception_table = table;
  return fixture;
}

RawFixture half_a_unit() {
  RawFixture fixture;
  fixture.bytes.push_back(9);
  return fixture;
}

INSTANTIATE_TEST_SUITE_P(
    All, DecodeMalformed,
    testing::Values(
        Malformed{"half_a_unit", half_a_unit()},
        Malformed{"unknown_opcode", RawFixture().unit(255, 0)},
        Malformed{"stray_cache", RawFixture().op(RawOp::CACHE)},
        Malformed{"caches_cut_off",
                  RawFixture().unit(uint8_t{106}, 0).unit(0, 0)},
        Malformed{"prefix_at_the_end", RawFixture().op(RawOp::EXTENDED_ARG, 1)},
        Malformed{"call_without_precall", RawFixture().op(RawOp::CALL, 1)},
        Malformed{"precall_without_call", RawFixture().op(RawOp::PRECALL, 1)},
        Malformed{"precall_then_other",
                  RawFixture().op(RawOp::PRECALL, 1).op(RawOp::NOP)},
        Malformed{"precall_twice",
                  RawFixture().op(RawOp::PRECALL, 1).op(RawOp::PRECALL, 1)},
        Malformed{"precall_and_call_disagree",
                  RawFixture().op(RawOp::PRECALL, 1).op(RawOp::CALL, 2)},
        Malformed{"keywords_without_call",
                  RawFixture().op(RawOp::KW_NAMES, 1).op(RawOp::NOP)},
        Malformed{"jump_behind_the_end",
                  RawFixture().op(RawOp::JUMP_FORWARD, 1).op(RawOp::NOP)},
        Malformed{"jump_far_behind_the_end",
                  RawFixture().op(RawOp::JUMP_FORWARD, 100)},
        Malformed{"jump_before_the_start",
                  RawFixture().op(RawOp::JUMP_BACKWARD, 2)},
        Malformed{
            "jump_into_a_cache",
            RawFixture().op(RawOp::LOAD_ATTR).op(RawOp::JUMP_BACKWARD, 4)},
        Malformed{"exception_table_cut_off", with_exceptions({0x80, 1, 1})},
        Malformed{"exception_range_outside", with_exceptions({0x82, 5, 0, 0})},
        Malformed{"exception_handler_outside",
                  with_exceptions({0x80, 1, 4, 0})},
        Malformed{"exception_ranges_overlap",
                  with_exceptions({0x80, 2, 3, 0, 0x81, 1, 3, 0})}),
    [](const auto& test) { return std::string(test.param.why); });

// Whatever the bytes are: refused, or code whose parts fit together.
TEST(Decode, RandomBytesAreRefusedOrConsistent) {
  std::mt19937 random(311);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    RawFixture fixture;
    for (uint32_t i = random() % 12; i > 0; --i) {
      fixture.unit(static_cast<uint8_t>(random()), random() % 6);
      const auto& raw = v311::kRawInfo[fixture.bytes.end()[-2]];
      for (int cache = 0; cache < raw.caches; ++cache) fixture.unit(0, 0);
    }
    for (uint32_t i = random() % 3 * 4; i > 0; --i) {
      fixture.exception_table.push_back(random() % 4);
    }
    for (uint32_t i = random() % 3 * 4; i > 0; --i) {
      fixture.line_table.push_back(static_cast<uint8_t>(random()));
    }
    const RawCode raw = fixture.raw();
    try {
      const Code code = decode(running_version(), raw);
      ++accepted;
      for (const Instruction& instruction : code.instructions) {
        if (!info(instruction.op).jumps) continue;
        ASSERT_GE(instruction.arg, 0);
        ASSERT_LT(instruction.arg, code.size());
      }
      for (const Handler& handler : code.handlers) {
        ASSERT_LE(handler.start, handler.end);
        ASSERT_LE(handler.end, code.size());
        ASSERT_LT(handler.target, code.size());
      }
      for (int32_t i = 0; i < code.size(); ++i) {
        ASSERT_EQ(code.index_at(code[i].offset), i);
        code.handler_for(i);
      }
      ASSERT_EQ(code.positions().size(), code.instructions.size());
    } catch (const InternalError&) {
    }
  }
  EXPECT_GT(accepted, 500);
}

TEST(Decode, LineTableThatEndsInsideAnEntryIsRefused) {
  RawFixture fixture;
  fixture.op(RawOp::NOP);
  fixture.line_table = {0x80 | 10 << 3, 1};
  const Code code = fixture.decoded();
  EXPECT_THROW(code.positions(), InternalError);
}

}  // namespace
}  // namespace magneto::bytecode
