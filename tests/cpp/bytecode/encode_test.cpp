// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/encode.h"

#include <gtest/gtest.h>

#include <random>

#include "bytecode/decode.h"
#include "raw_fixture.h"
#include "support/check.h"

namespace magneto::bytecode {
namespace {

Code decode_again(const EncodedCode& encoded, int32_t local_count = 8) {
  RawCode raw;
  raw.bytecode = encoded.bytecode;
  raw.exception_table = encoded.exception_table;
  raw.line_table = encoded.line_table;
  raw.first_line = encoded.first_line;
  raw.local_count = local_count;
  Code code = decode(running_version(), raw);
  code.positions();  // while `encoded` lives
  return code;
}

EncodedCode encoded(const std::vector<Instruction>& instructions,
                    const std::vector<Handler>& handlers = {}) {
  PositionTable positions;
  positions.all.resize(instructions.size());
  return encode(running_version(), instructions, positions, handlers, 1);
}

void expect_same(const std::vector<Instruction>& expected, const Code& code) {
  ASSERT_EQ(code.size(), static_cast<int32_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const Instruction& got = code.instructions[i];
    EXPECT_EQ(got.op, expected[i].op) << i;
    EXPECT_EQ(got.arg, expected[i].arg) << i;
    EXPECT_EQ(got.aux, expected[i].aux) << i;
  }
}

TEST(Encode, WritesWhatDecodeRead) {
  RawFixture fixture;
  fixture.op(RawOp::RESUME)
      .op(RawOp::LOAD_GLOBAL, 3)
      .op(RawOp::LOAD_CONST, 1)
      .op(RawOp::KW_NAMES, 2)
      .op(RawOp::PRECALL, 1)
      .op(RawOp::CALL, 1)
      .op(RawOp::RETURN_VALUE);
  const Code code = fixture.decoded();
  const EncodedCode out = encode(running_version(), code.instructions,
                                 code.position_table(), code.handlers, 1);
  for (size_t i = 0; i < out.bytecode.size(); i += 2) {
    // Caches come out empty; all else as it was.
    if (fixture.bytes[i] == 17) continue;
    EXPECT_EQ(out.bytecode[i], fixture.bytes[i]);
    EXPECT_EQ(out.bytecode[i + 1], fixture.bytes[i + 1]);
  }
  EXPECT_EQ(out.bytecode.size(), fixture.bytes.size());
  EXPECT_EQ(out.stack_size, 3);
}

TEST(Encode, EveryCanonicalOpButCacheHasARawForm) {
  for (int op = 0; op < kOpCount; ++op) {
    const auto& forms = v311::kRawForms[static_cast<size_t>(op)];
    const bool has_form = forms.forward != kNoRawOp;
    EXPECT_EQ(has_form, static_cast<Op>(op) != Op::Cache)
        << info(static_cast<Op>(op)).name;
  }
}

TEST(Encode, LongOperandsGetPrefixes) {
  const std::vector<Instruction> code = {
      {Op::LoadConst, 0xff},      {Op::LoadConst, 0x100},
      {Op::LoadConst, 0x12345},   {Op::LoadConst, 0x1234567},
      {Op::LoadGlobalNull, 0x80}, {Op::ReturnValue}};
  const EncodedCode out = encoded(code);
  EXPECT_EQ(out.bytecode.size(), 2u * (1 + 2 + 3 + 4 + (2 + 5) + 1));
  expect_same(code, decode_again(out));
}

TEST(Encode, CallsWithManyArgumentsGetPrefixesInEachPart) {
  std::vector<Instruction> code = {{Op::PushNull}, {Op::LoadConst, 0}};
  for (int i = 0; i < 300; ++i) code.push_back({Op::LoadConst, 0});
  code.push_back({Op::Call, 300, 400});
  code.push_back({Op::ReturnValue});
  expect_same(code, decode_again(encoded(code)));
}

// A loop around `size` instructions, with a way out of it over them all.
std::vector<Instruction> loop(int32_t size) {
  std::vector<Instruction> code = {{Op::LoadConst, 0}, {Op::GetIter}};
  code.push_back({Op::ForIter, size + 5});
  code.push_back({Op::PopTop});
  for (int32_t i = 0; i < size; ++i) code.push_back({Op::Nop});
  code.push_back({Op::Jump, 2});
  code.push_back({Op::LoadConst, 0});
  code.push_back({Op::ReturnValue});
  return code;
}

TEST(Encode, JumpsGrowWithTheirDistance) {
  for (const int32_t size : {0, 1, 250, 251, 252, 253, 254, 255, 256, 257, 258,
                             65530, 65531, 65532, 65533, 65534, 65535, 65540}) {
    const auto code = loop(size);
    expect_same(code, decode_again(encoded(code)));
  }
  EXPECT_EQ(encoded(loop(100)).bytecode.size(), 2u * 107);
}

TEST(Encode, JumpKeepsWhetherItChecksForInterrupts) {
  const std::vector<Instruction> code = {
      {Op::Nop},
      {Op::Resume},
      {Op::LoadConst, 0},
      {Op::PopJumpIfTrue, 5},
      {Op::Jump, 0, kNoInterruptCheck},
      {Op::Jump, 1},
  };
  expect_same(code, decode_again(encoded(code)));
}

TEST(Encode, HandlersComeBack) {
  const std::vector<Instruction> code = {
      {Op::LoadConst, 0}, {Op::LoadAttr, 0}, {Op::ReturnValue},
      {Op::PushExcInfo},  {Op::PopTop},      {Op::PopExcept},
      {Op::LoadConst, 0}, {Op::ReturnValue}, {Op::Copy, 3},
      {Op::PopExcept},    {Op::Reraise, 1},
  };
  const std::vector<Handler> handlers = {{0, 2, 3, 0, false},
                                         {3, 5, 8, 1, true}};
  const EncodedCode out = encoded(code, handlers);
  const Code again = decode_again(out);
  expect_same(code, again);
  EXPECT_EQ(again.handlers, handlers);
  // At 8: previous exception, lasti, exception; then its copy.
  EXPECT_EQ(out.stack_size, 4);
}

TEST(Encode, PositionsComeBack) {
  const std::vector<Instruction> code = {
      {Op::Nop}, {Op::Nop}, {Op::Nop},           {Op::Nop}, {Op::Nop},
      {Op::Nop}, {Op::Nop}, {Op::LoadAttr, 500}, {Op::Nop}, {Op::Nop},
  };
  PositionTable positions;
  positions.all = {
      {10, 10, 0, 4},         {11, 11, 120, 127}, {11, 11, 79, 94},
      {11, 11, 79, 95},       {11, 11, 80, 85},   {9, 9, 3, 5},
      {-1, -1, -1, -1},       {4000, 4003, 1, 0}, {5, 5, -1, -1},
      {5, 5, 100000, 100001},
  };
  std::vector<Instruction> all = code;
  all.insert(all.begin(), {Op::LoadConst, 0});
  positions.all.insert(positions.all.begin(), {10, 10, 4, 200});
  all.push_back({Op::ReturnValue});
  positions.all.push_back({7, 8, 3, 3});
  const EncodedCode out = encode(running_version(), all, positions, {}, 10);
  EXPECT_EQ(decode_again(out).positions(), positions.all);
}

TEST(Encode, RefusesWhatCPythonCantExpress) {
  // a backward FOR_ITER
  EXPECT_THROW(encoded({{Op::LoadConst}, {Op::GetIter}, {Op::ForIter, 1}}),
               InternalError);
  EXPECT_THROW(encoded({{Op::Cache}, {Op::LoadConst}, {Op::ReturnValue}}),
               InternalError);
  EXPECT_THROW(encoded({{Op::LoadConst, -1}, {Op::ReturnValue}}),
               InternalError);
  EXPECT_THROW(encoded({{Op::Jump, 7}}), InternalError);
  EXPECT_THROW(encoded({{Op::LoadConst}, {Op::ReturnValue}},
                       {{0, 2, 0, 0, false}, {1, 2, 0, 0, false}}),
               InternalError);
  EXPECT_THROW(
      encode(running_version(), std::vector<Instruction>{{Op::Nop}}, {}, {}, 1),
      InternalError);
}

// Random control flow over blocks that leave the stack as it was.
TEST(Encode, RandomProgramsComeBack) {
  std::mt19937 random(20231107);
  auto below = [&](int32_t n) {
    return static_cast<int32_t>(random() % static_cast<uint32_t>(n));
  };
  for (int round = 0; round < 300; ++round) {
    const int32_t blocks = 1 + below(200);
    std::vector<Instruction> code;
    std::vector<int32_t> starts;
    for (int32_t block = 0; block < blocks; ++block) {
      starts.push_back(static_cast<int32_t>(code.size()));
      const int32_t target = below(blocks);  // resolved below
      switch (below(4)) {
        case 0:
          code.push_back({Op::LoadConst, below(70000)});
          code.push_back({Op::PopJumpIfFalse, target});
          break;
        case 1:
          code.push_back({Op::Jump, target, below(2) ? kNoInterruptCheck : -1});
          break;
        case 2:
          code.push_back({Op::LoadGlobalNull, below(300)});
          code.push_back({Op::LoadConst, below(300)});
          code.push_back({Op::Call, 1, below(3) - 1});
          code.push_back({Op::PopTop});
          break;
        default:
          for (int32_t i = below(20); i >= 0; --i) code.push_back({Op::Nop});
      }
    }
    code.push_back({Op::LoadConst, 0});
    code.push_back({Op::ReturnValue});
    const auto covered = static_cast<int32_t>(code.size());
    code.push_back({Op::PopTop});  // the handler of all ranges
    code.push_back({Op::LoadConst, 0});
    code.push_back({Op::ReturnValue});
    PositionTable positions;
    for (size_t i = 0; i < code.size(); ++i) {
      Instruction& instruction = code[i];
      if (info(instruction.op).jumps) {
        instruction.arg = starts[static_cast<size_t>(instruction.arg)];
        // The mark is only of backward jumps.
        if (instruction.arg > static_cast<int32_t>(i)) instruction.aux = -1;
      }
      const int32_t line = 1 + below(200), column = below(300);
      positions.all.push_back(
          {line, line + below(3) * below(2), column, column + below(40)});
      if (instruction.op == Op::Call && instruction.aux >= 0 && below(2)) {
        positions.keywords.push_back(
            {static_cast<int32_t>(i), {line + 1, line + 1, 0, 1}});
      }
    }
    std::vector<Handler> handlers;
    for (int32_t at = below(20); at < covered;) {
      const int32_t end = std::min(at + 1 + below(20), covered);
      handlers.push_back({at, end, covered, 0, false});
      at = end + below(20);
    }
    const Code again =
        decode_again(encode(running_version(), code, positions, handlers, 1));
    EXPECT_EQ(again.handlers, handlers);
    expect_same(code, again);
    EXPECT_EQ(again.position_table(), positions);
  }
}

TEST(Join, LeavesTheFirstAsItIs) {
  const auto at_line = [](int32_t line) { return Position{line, line, 4, 8}; };
  PositionTable first_positions{.all = {at_line(3), at_line(5), at_line(4)},
                                .keywords = {}};
  const EncodedCode first =
      encode(running_version(),
             std::vector<Instruction>{
                 {Op::Resume, 0}, {Op::LoadConst, 0}, {Op::ReturnValue, 0}},
             first_positions, {}, 3);
  PositionTable more_positions{
      .all = {at_line(5), at_line(5), at_line(5), at_line(9)}, .keywords = {}};
  const EncodedCode more = encode(
      running_version(),
      std::vector<Instruction>{{Op::LoadConst, 1},
                               {Op::ReturnValue, 0},
                               {Op::PushExcInfo, 0},
                               {Op::Reraise, 0}},
      more_positions,
      std::vector<Handler>{
          {.start = 0, .end = 2, .target = 2, .depth = 0, .push_lasti = false}},
      3);
  RawCode raw;
  raw.bytecode = first.bytecode;
  raw.line_table = first.line_table;
  raw.first_line = first.first_line;
  raw.stack_size = 7;
  const EncodedCode joined = join(running_version(), raw, more);
  EXPECT_EQ(joined.stack_size, 7);
  EXPECT_TRUE(std::equal(first.bytecode.begin(), first.bytecode.end(),
                         joined.bytecode.begin()));

  const Code code = decode_again(joined);
  ASSERT_EQ(code.size(), 7);
  const int32_t lines[] = {3, 5, 4, 5, 5, 5, 9};
  for (int32_t i = 0; i < code.size(); ++i)
    EXPECT_EQ(code.position(i), at_line(lines[i])) << i;
  ASSERT_EQ(code.handlers.size(), 1U);
  EXPECT_EQ(code.handlers[0].start, 3);
  EXPECT_EQ(code.handlers[0].end, 5);
  EXPECT_EQ(code.handlers[0].target, 5);
}

}  // namespace
}  // namespace magneto::bytecode
