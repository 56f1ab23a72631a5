// SPDX-License-Identifier: BSD-3-Clause
// CPython 3.11's opcodes and how they map to canonical ones, as tables that the
// compiler fills from opcodes.inc and ops.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bytecode/instruction.h"
#include "bytecode/version.h"

namespace magneto::bytecode::v311 {

enum class RawOp : uint8_t {
#define MG_RAW(number, name, caches, jump) name = number,
#define MG_RAW_FORM(number, name, base)
#include "bytecode/v311/opcodes.inc"
#undef MG_RAW
#undef MG_RAW_FORM
};

constexpr OpcodeKind opcode_kind(RawOp raw, int jump) {
  switch (raw) {
    case RawOp::EXTENDED_ARG:
      return OpcodeKind::ExtendedArg;
    case RawOp::CACHE:  // belongs to the instruction before it
      return OpcodeKind::Invalid;
    case RawOp::LOAD_GLOBAL:
    case RawOp::KW_NAMES:
    case RawOp::PRECALL:
    case RawOp::CALL:
      return OpcodeKind::Own;
    case RawOp::JUMP_BACKWARD_NO_INTERRUPT:
      return OpcodeKind::NoInterrupt;
    default:
      return jump > 0   ? OpcodeKind::Forward
             : jump < 0 ? OpcodeKind::Backward
                        : OpcodeKind::Plain;
  }
}

// By opcode number; specialised opcodes are equal to their base.
inline constexpr std::array<RawInfo, 256> kRawInfo = [] {
  std::array<RawInfo, 256> table{};
#define MG_RAW(number, name, cache_count, jump)        \
  table[number].kind = opcode_kind(RawOp::name, jump); \
  table[number].caches = cache_count;                  \
  table[number].base = number;
#define MG_RAW_FORM(number, name, base)
#include "bytecode/v311/opcodes.inc"
#undef MG_RAW
#undef MG_RAW_FORM
#define MG_MAP(raw, canonical) \
  table[static_cast<size_t>(RawOp::raw)].op = Op::canonical;
#include "bytecode/v311/ops.def"
#undef MG_MAP
#define MG_RAW(number, name, caches, jump)
#define MG_RAW_FORM(number, name, base) \
  table[number] = table[static_cast<size_t>(RawOp::base)];
#include "bytecode/v311/opcodes.inc"
#undef MG_RAW
#undef MG_RAW_FORM
  return table;
}();

// By canonical op.
inline constexpr std::array<RawForms, kOpCount> kRawForms = [] {
  std::array<RawForms, kOpCount> table{};
#define MG_MAP(raw, canonical)                                                \
  if (RawOp::raw != RawOp::JUMP_BACKWARD_NO_INTERRUPT) {                      \
    const auto number = static_cast<uint8_t>(RawOp::raw);                     \
    RawForms& forms = table[static_cast<size_t>(Op::canonical)];              \
    (kRawInfo[number].kind == OpcodeKind::Backward ? forms.backward           \
                                                   : forms.forward) = number; \
  }
#include "bytecode/v311/ops.def"
#undef MG_MAP
  table[static_cast<size_t>(Op::LoadGlobalNull)] =
      table[static_cast<size_t>(Op::LoadGlobal)];
  return table;
}();

}  // namespace magneto::bytecode::v311
