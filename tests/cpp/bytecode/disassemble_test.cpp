// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/disassemble.h"

#include <gtest/gtest.h>

#include "raw_fixture.h"

namespace magneto::bytecode {
namespace {

RawFixture fixture() {
  RawFixture raw;
  raw.op(RawOp::LOAD_FAST, 1)
      .op(RawOp::LOAD_CONST, 2)
      .op(RawOp::BINARY_OP, 13)
      .op(RawOp::POP_JUMP_FORWARD_IF_TRUE, 1)
      .op(RawOp::JUMP_BACKWARD_NO_INTERRUPT, 6)
      .op(RawOp::LOAD_GLOBAL, 1)
      .op(RawOp::KW_NAMES, 2)
      .op(RawOp::PRECALL, 1)
      .op(RawOp::CALL, 1)
      .op(RawOp::RETURN_VALUE)
      .op(RawOp::RERAISE, 1);
  raw.line_table = {0x80 | 11 << 3 | 1, 1, 2, 0x80 | 12 << 3 | 2, 1, 2,
                    0x80 | 15 << 3};
  raw.exception_table = {0x80, 2, 21, 2 << 1 | 1};
  return raw;
}

TEST(Disassemble, PrintsNamesLinesAndTargets) {
  Symbols symbols;
  symbols.constant = [](int32_t i) { return "const" + std::to_string(i); };
  symbols.name = [](int32_t i) { return "name" + std::to_string(i); };
  symbols.local = [](int32_t i) { return "local" + std::to_string(i); };
  const RawFixture raw = fixture();
  EXPECT_EQ(disassemble(raw.decoded(), symbols),
            R"(    2  >>    0 @0     LoadFast           1 (local1)
             1 @1     LoadConst          2 (const2)
    4        2 @2     BinaryOp           13 (+=)
             3 @4     PopJumpIfTrue      to 5
    -        4 @5     Jump               to 0 (no interrupt check)
       >>    5 @6     LoadGlobalNull     0 (name0)
             6 @12    Call               1 (const2)
             7 @20    ReturnValue
       >>    8 @21    Reraise            1
exceptions:
  0 to 1 -> 8 [2] lasti
)");
}

TEST(Disassemble, SymbolsMayBeMissing) {
  const RawFixture raw = fixture();
  const std::string text = disassemble(raw.decoded());
  EXPECT_NE(text.find("LoadFast           1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace magneto::bytecode
