// SPDX-License-Identifier: BSD-3-Clause
// The instruction model: canonical instructions that read the same whichever
// CPython version wrote the bytecode. Plain data, no Python.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace magneto::bytecode {

enum class Op : uint8_t {
#define MG_OP(name, operand, flags, takes, gives) name,
#include "bytecode/ops.def"
#undef MG_OP
};

#define MG_OP(name, operand, flags, takes, gives) +1
inline constexpr int kOpCount = 0
#include "bytecode/ops.def"
    ;
#undef MG_OP

enum class OperandKind : uint8_t {
  None,
  Const,
  Name,
  Local,
  Target,
  Count,
  Kind
};

struct OpInfo {
  std::string_view name;
  OperandKind operand;
  bool jumps;       // may go to its Target operand
  bool terminates;  // never falls through
  bool raises;      // may raise
  bool only_adds;   // the frame keeps what it has
  bool runs_alone;  // may run in plain Python where the graph breaks
};

inline constexpr std::array<OpInfo, kOpCount> kOpInfo = [] {
  constexpr int J = 1, T = 2, R = 4, A = 8, I = 16;  // as ops.def names them
  return std::array<OpInfo, kOpCount>{{
#define MG_OP(name, operand, bits, takes, gives)                            \
  {#name,           OperandKind::operand, ((bits)&J) != 0, ((bits)&T) != 0, \
   ((bits)&R) != 0, ((bits)&A) != 0,      ((bits)&I) != 0},
#include "bytecode/ops.def"
#undef MG_OP
  }};
}();

constexpr const OpInfo& info(Op op) { return kOpInfo[static_cast<size_t>(op)]; }

// Source range of an instruction; -1: unknown.
struct Position {
  int32_t line = -1, end_line = -1, column = -1, end_column = -1;
  friend bool operator==(const Position&, const Position&) = default;
};

// The source ranges of a sequence of instructions.
struct PositionTable {
  // In a method call that spans lines, CPython gives the keyword names a source
  // range of their own, at which a debugger stops.
  struct Keywords {
    int32_t index;  // a Call's
    Position position;
    friend bool operator==(const Keywords&, const Keywords&) = default;
  };
  std::vector<Position> all;       // parallel to the instructions
  std::vector<Keywords> keywords;  // sorted; only those unlike the Call's own

  friend bool operator==(const PositionTable&, const PositionTable&) = default;
};

// One canonical instruction. 16 bytes: the interpreter's inner loop reads it.
struct Instruction {
  Op op = Op::Nop;
  int32_t arg = 0;     // meaning by OpInfo::operand
  int32_t aux = -1;    // Call: index of the keyword names in consts, or -1;
                       // Jump: kNoInterruptCheck when it skips that, or -1
  int32_t offset = 0;  // in code units, of the raw instruction it came from
  friend bool operator==(const Instruction&, const Instruction&) = default;
};
static_assert(sizeof(Instruction) == 16);
inline constexpr int32_t kNoInterruptCheck = 1;

// What the exception table says of a range of instructions.
struct Handler {
  int32_t start;    // first instruction covered
  int32_t end;      // one past the last
  int32_t target;   // handler's instruction
  int32_t depth;    // stack depth to unwind to
  bool push_lasti;  // the raising instruction's offset is pushed before the
                    // exception
  friend bool operator==(const Handler&, const Handler&) = default;
};

// What catches an exception that instruction `index` raises, or nullptr. The
// handlers are sorted by start and disjoint.
const Handler* find_handler(std::span<const Handler> handlers, int32_t index);

}  // namespace magneto::bytecode
