// SPDX-License-Identifier: BSD-3-Clause
// What is CPython 3.11's own in its bytecode: KW_NAMES, PRECALL and CALL are
// one call, and the low bit of LOAD_GLOBAL's operand pushes NULL first.
#include "bytecode/version.h"

#include "bytecode/v311/raw.h"
#include "bytecode/v311/side_tables.h"
#include "support/check.h"

namespace magneto::bytecode {
namespace {

using v311::RawOp;

void decode_own(uint8_t opcode, int32_t arg, Fusion& fusion) {
  switch (static_cast<RawOp>(opcode)) {
    case RawOp::KW_NAMES:
      fusion.names = arg;
      return;
    case RawOp::PRECALL:
      MG_CHECK(fusion.count < 0, "a CALL must follow a PRECALL");
      fusion.count = arg;
      return;
    case RawOp::CALL:
      MG_CHECK(fusion.count == arg, "a CALL must repeat its PRECALL's operand");
      fusion.emit(Op::Call, arg, fusion.names);
      fusion.close();
      return;
    default:  // LOAD_GLOBAL
      MG_CHECK(!fusion.is_open(),
               "a call's instructions must follow each other");
      fusion.emit(arg & 1 ? Op::LoadGlobalNull : Op::LoadGlobal, arg >> 1);
  }
}

RawInstructions encode_own(const Instruction& instruction, uint8_t opcode) {
  const int32_t arg = instruction.arg;
  RawInstructions raw;
  switch (instruction.op) {
    case Op::LoadGlobal:
      raw.add(opcode, arg << 1);
      break;
    case Op::LoadGlobalNull:
      raw.add(opcode, arg << 1 | 1);
      break;
    case Op::Call:
      if (instruction.aux >= 0)
        raw.add(static_cast<uint8_t>(RawOp::KW_NAMES), instruction.aux,
                /*names_keywords=*/true);
      raw.add(static_cast<uint8_t>(RawOp::PRECALL), arg);
      raw.add(opcode, arg);
      break;
    default:
      raw.add(opcode, arg);
  }
  return raw;
}

constexpr VersionTable kTable{
    .opcodes = v311::kRawInfo,
    .forms = v311::kRawForms,
    .extended_arg = static_cast<uint8_t>(RawOp::EXTENDED_ARG),
    .jump_without_interrupt_check =
        static_cast<uint8_t>(RawOp::JUMP_BACKWARD_NO_INTERRUPT),
    .decode_own = decode_own,
    .encode_own = encode_own,
    .read_handlers = v311::read_handlers,
    .write_handler = v311::write_handler,
    .read_lines = v311::read_lines,
    .write_lines = v311::write_lines,
};

}  // namespace

const VersionTable& running_version() noexcept { return kTable; }

}  // namespace magneto::bytecode
