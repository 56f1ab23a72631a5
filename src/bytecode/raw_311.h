// SPDX-License-Identifier: BSD-3-Clause
// CPython 3.11's opcodes and how they map to canonical ones, as tables that the
// compiler fills from opcodes_311.inc and ops_311.def. For decode and encode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bytecode/instruction.h"

namespace magneto::bytecode::cpython_311 {

enum class RawOp : uint8_t {
#define MG_RAW(number, name, caches, jump) name = number,
#define MG_RAW_FORM(number, name, base)
#include "bytecode/opcodes_311.inc"
#undef MG_RAW
#undef MG_RAW_FORM
};

// What decode does with an opcode.
enum class Form : uint8_t {
  Invalid,
  Plain,
  Forward,      // a jump; operand: code units after this instruction
  Backward,     // a jump; operand: code units before the next instruction
  NoInterrupt,  // Backward, and marked in Instruction::aux
  ExtendedArg,
  Cache,
  LoadGlobal,
  KwNames,
  Precall,
  Call,
};

struct RawInfo {
  Op op = Op::Nop;
  Form form = Form::Invalid;
  uint8_t caches = 0;  // code units of inline cache behind it
};

constexpr Form form_of(RawOp raw, int jump) {
  switch (raw) {
    case RawOp::EXTENDED_ARG:
      return Form::ExtendedArg;
    case RawOp::CACHE:
      return Form::Cache;
    case RawOp::LOAD_GLOBAL:
      return Form::LoadGlobal;
    case RawOp::KW_NAMES:
      return Form::KwNames;
    case RawOp::PRECALL:
      return Form::Precall;
    case RawOp::CALL:
      return Form::Call;
    case RawOp::JUMP_BACKWARD_NO_INTERRUPT:
      return Form::NoInterrupt;
    default:
      return jump > 0 ? Form::Forward : jump < 0 ? Form::Backward : Form::Plain;
  }
}

// By opcode number; specialised opcodes are equal to their base.
inline constexpr std::array<RawInfo, 256> kRawInfo = [] {
  std::array<RawInfo, 256> table{};
#define MG_RAW(number, name, cache_count, jump)    \
  table[number].form = form_of(RawOp::name, jump); \
  table[number].caches = cache_count;
#define MG_RAW_FORM(number, name, base)
#include "bytecode/opcodes_311.inc"
#undef MG_RAW
#undef MG_RAW_FORM
#define MG_MAP(raw, canonical) \
  table[static_cast<size_t>(RawOp::raw)].op = Op::canonical;
#include "bytecode/ops_311.def"
#undef MG_MAP
#define MG_RAW(number, name, caches, jump)
#define MG_RAW_FORM(number, name, base) \
  table[number] = table[static_cast<size_t>(RawOp::base)];
#include "bytecode/opcodes_311.inc"
#undef MG_RAW
#undef MG_RAW_FORM
  return table;
}();

inline constexpr uint8_t kNoRawOp = 0xff;

// By canonical op: its opcode; for jumps the forward and the backward form.
struct RawForms {
  uint8_t forward = kNoRawOp;  // or the only form
  uint8_t backward = kNoRawOp;
};

inline constexpr std::array<RawForms, kOpCount> kRawForms = [] {
  std::array<RawForms, kOpCount> table{};
#define MG_MAP(raw, canonical)                                          \
  if (RawOp::raw != RawOp::JUMP_BACKWARD_NO_INTERRUPT) {                \
    const auto number = static_cast<uint8_t>(RawOp::raw);               \
    RawForms& forms = table[static_cast<size_t>(Op::canonical)];        \
    (kRawInfo[number].form == Form::Backward ? forms.backward           \
                                             : forms.forward) = number; \
  }
#include "bytecode/ops_311.def"
#undef MG_MAP
  table[static_cast<size_t>(Op::LoadGlobalNull)] =
      table[static_cast<size_t>(Op::LoadGlobal)];
  return table;
}();

}  // namespace magneto::bytecode::cpython_311
