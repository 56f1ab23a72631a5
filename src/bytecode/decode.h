// SPDX-License-Identifier: BSD-3-Clause
// From a code object's raw bytes to canonical instructions.
//
// EXTENDED_ARG prefixes are folded, inline caches dropped, quickened and
// specialised opcodes mapped to the ones they stand for (so the buffer that the
// interpreter rewrites while it runs may be read directly), what a version
// writes as several opcodes fused into one instruction, and jumps point to
// instruction indices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/instruction.h"
#include "bytecode/version.h"

namespace magneto::bytecode {

// What decode needs of a code object. The bytes of the line
// table must live as long as the Code made from them: positions are decoded
// only when somebody asks.
struct RawCode {
  std::span<const uint8_t> bytecode;  // quickened or not
  std::span<const uint8_t> exception_table;
  std::span<const uint8_t> line_table;
  int32_t first_line = 1;
  int32_t stack_size = 0;
  int32_t local_count = 0;  // of localsplus: locals, cells and free variables
};

class Code {
 public:
  std::vector<Instruction> instructions;
  std::vector<Handler> handlers;  // sorted by start, disjoint
  int32_t first_line = 1;
  int32_t stack_size = 0;
  int32_t local_count = 0;

  int32_t size() const { return static_cast<int32_t>(instructions.size()); }
  const Instruction& operator[](int32_t index) const {
    return instructions[static_cast<size_t>(index)];
  }

  // Parallel to instructions. The first call decodes the line table; the
  // caller must hold whatever serialises access to this Code (the GIL).
  const PositionTable& position_table() const;
  const std::vector<Position>& positions() const {
    return position_table().all;
  }
  const Position& position(int32_t index) const {
    return positions()[static_cast<size_t>(index)];
  }

  // What catches an exception that instruction `index` raises, or nullptr.
  const Handler* handler_for(int32_t index) const {
    return find_handler(handlers, index);
  }

  // The instruction that code unit `unit` belongs to (f_lasti / 2), prefixes
  // and inline caches included.
  int32_t index_at(int32_t unit) const;

 private:
  friend Code decode(const VersionTable& version, const RawCode& raw);
  const VersionTable* version_ = nullptr;  // null: not from raw bytes
  std::span<const uint8_t> line_table_;
  int32_t unit_count_ = 0;
  mutable PositionTable positions_;
};

// Throws InternalError when the bytes are not what CPython's compiler can have
// written (an unknown opcode, a jump between instructions, a torn call).
Code decode(const VersionTable& version, const RawCode& raw);

}  // namespace magneto::bytecode
