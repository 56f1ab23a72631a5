// SPDX-License-Identifier: BSD-3-Clause
// What decode() and encode() ask of a version of CPython: its opcodes, what is
// made of them, and how the side tables of its code objects are written. Each
// version has a folder here that fills in one such table; CMake chooses the
// folder of the CPython that the build is for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/instruction.h"

namespace magneto::bytecode {

// What decode does with an opcode.
enum class OpcodeKind : uint8_t {
  Invalid,
  Plain,        // one instruction with the same operand
  Forward,      // a jump; operand: code units after this instruction
  Backward,     // a jump; operand: code units before the next instruction
  NoInterrupt,  // Backward, and marked in Instruction::aux
  ExtendedArg,
  Own,  // VersionTable::decode_own says
};

struct RawInfo {
  Op op = Op::Nop;
  OpcodeKind kind = OpcodeKind::Invalid;
  uint8_t caches = 0;  // code units of inline cache after it
  uint8_t base = 0;    // the opcode that it is, or is a specialised form of
};

inline constexpr uint8_t kNoRawOp = 0xff;

// The opcode of a canonical op; for a jump its forward and backward form.
struct RawForms {
  uint8_t forward = kNoRawOp;  // or the only form
  uint8_t backward = kNoRawOp;
};

// The canonical instruction that several raw ones become together, while some
// of these are still to come.
struct Fusion {
  std::vector<Instruction>& out;
  int32_t start = 0;   // code unit of the first raw one
  int32_t names = -1;  // of a call, if known yet: its keyword names' constant
  int32_t count = -1;  // ... and the number of its arguments

  bool is_open() const { return names >= 0 || count >= 0; }
  void close() { names = count = -1; }
  void emit(Op op, int32_t arg, int32_t aux = -1) {
    out.push_back({op, arg, aux, start});
  }
};

// One opcode with its operand, which isn't split into EXTENDED_ARGs yet.
struct RawInstruction {
  uint8_t opcode;
  uint32_t arg;
  bool names_keywords = false;  // see PositionTable::Keywords
};

// The raw instructions that a canonical one becomes.
class RawInstructions {
 public:
  // Throws InternalError for a negative operand.
  void add(uint8_t opcode, int32_t arg, bool names_keywords = false);
  const RawInstruction* begin() const { return items_.data(); }
  const RawInstruction* end() const { return items_.data() + count_; }

 private:
  std::array<RawInstruction, 3> items_;
  size_t count_ = 0;
};

// An entry of the exception table, in code units.
struct RawHandler {
  int32_t start;
  int32_t size;
  int32_t target;
  int32_t depth;
  bool push_lasti;
};

// An entry of the line table: this many code units have one source range.
struct LineEntry {
  int32_t units;
  Position position;
};

struct VersionTable {
  // By opcode; specialised opcodes are equal to what they stand for.
  std::array<RawInfo, 256> opcodes;
  std::array<RawForms, kOpCount> forms;  // by canonical op
  uint8_t extended_arg;
  uint8_t jump_without_interrupt_check;  // backward

  // A base opcode of kind Own: writes an instruction, or leaves the fusion open
  // for the next raw one. Any other kind must find it closed.
  void (*decode_own)(uint8_t opcode, int32_t arg, Fusion& fusion);
  // What an instruction that doesn't jump becomes; `opcode` is its form.
  RawInstructions (*encode_own)(const Instruction& instruction, uint8_t opcode);

  std::vector<RawHandler> (*read_handlers)(std::span<const uint8_t> table);
  void (*write_handler)(const RawHandler& handler, std::vector<uint8_t>& table);
  // Each line is stored as its distance from the one before; the first one as
  // its distance from `line`.
  std::vector<LineEntry> (*read_lines)(std::span<const uint8_t> table,
                                       int32_t line);
  std::vector<uint8_t> (*write_lines)(std::span<const LineEntry> entries,
                                      int32_t line);
};

// The table of the CPython that this build is for.
const VersionTable& running_version() noexcept;

}  // namespace magneto::bytecode
