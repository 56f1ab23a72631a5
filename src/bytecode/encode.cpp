// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/encode.h"

#include <algorithm>
#include <array>

#include "bytecode/raw_311.h"
#include "bytecode/stack_effect.h"
#include "bytecode/tables_311.h"
#include "support/check.h"

namespace magneto::bytecode {
namespace {

using cpython_311::kNoRawOp;
using cpython_311::kRawForms;
using cpython_311::kRawInfo;
using cpython_311::RawOp;

// One opcode with its operand; a canonical instruction becomes up to three.
struct Piece {
  uint8_t raw;
  uint32_t arg;
};

struct Pieces {
  std::array<Piece, 3> items;
  int32_t count = 0;
  void add(RawOp raw, int32_t arg) { add(static_cast<uint8_t>(raw), arg); }
  void add(uint8_t raw, int32_t arg) {
    MG_CHECK(arg >= 0, "an operand must not be negative");
    items[static_cast<size_t>(count++)] = {raw, static_cast<uint32_t>(arg)};
  }
  const Piece* begin() const { return items.data(); }
  const Piece* end() const { return items.data() + count; }
};

int32_t extension_units(uint32_t arg) {
  return (arg > 0xff) + (arg > 0xffff) + (arg > 0xffffff);
}

int32_t units_of(const Piece& piece) {
  return 1 + extension_units(piece.arg) + kRawInfo[piece.raw].caches;
}

class Encoder {
 public:
  explicit Encoder(std::span<const Instruction> instructions)
      : instructions_(instructions), offsets_(instructions.size() + 1) {}

  // Chooses the size of every instruction: jumps start short and grow until
  // each reaches its target. No distance ever shrinks on the way, so the sizes
  // end as small as they can be, which is what CPython's assembler finds.
  void lay_out();
  void write_code(const PositionTable& positions, int32_t first_line,
                  EncodedCode& out) const;
  void write_handlers(std::span<const Handler> handlers,
                      EncodedCode& out) const;

 private:
  Pieces pieces_of(size_t i) const;
  Piece jump_piece(size_t i) const;
  int32_t offset(int32_t index) const {
    MG_CHECK(index >= 0 && static_cast<size_t>(index) < offsets_.size(),
             "a target must lie in the code");
    return offsets_[static_cast<size_t>(index)];
  }

  std::span<const Instruction> instructions_;
  std::vector<int32_t> offsets_;  // code unit where each starts; and the end
};

void Encoder::lay_out() {
  const size_t count = instructions_.size();
  std::vector<int32_t> units(count, 1);
  std::vector<size_t> jumps;
  for (size_t i = 0; i < count; ++i) {
    if (info(instructions_[i].op).jumps) {
      jumps.push_back(i);
      continue;
    }
    units[i] = 0;
    for (const Piece& piece : pieces_of(i)) units[i] += units_of(piece);
  }
  bool grew = true;
  while (grew) {
    grew = false;
    for (size_t i = 0; i < count; ++i) offsets_[i + 1] = offsets_[i] + units[i];
    for (const size_t i : jumps) {
      const int32_t needed = units_of(jump_piece(i));
      if (needed <= units[i]) continue;
      units[i] = needed;
      grew = true;
    }
  }
}

Piece Encoder::jump_piece(size_t i) const {
  const Instruction& instruction = instructions_[i];
  const int32_t distance = offset(instruction.arg) - offsets_[i + 1];
  const auto& forms = kRawForms[static_cast<size_t>(instruction.op)];
  // A jump to itself or to what is before it goes backward.
  const bool backward = instruction.arg <= static_cast<int32_t>(i);
  uint8_t raw = backward ? forms.backward : forms.forward;
  if (backward && instruction.op == Op::Jump &&
      instruction.aux == kNoInterruptCheck) {
    raw = static_cast<uint8_t>(RawOp::JUMP_BACKWARD_NO_INTERRUPT);
  }
  MG_CHECK(raw != kNoRawOp, "CPython 3.11 has no such jump in this direction");
  return {raw, static_cast<uint32_t>(backward ? -distance : distance)};
}

Pieces Encoder::pieces_of(size_t i) const {
  const Instruction& instruction = instructions_[i];
  Pieces pieces;
  if (info(instruction.op).jumps) {
    pieces.items[static_cast<size_t>(pieces.count++)] = jump_piece(i);
    return pieces;
  }
  const uint8_t raw = kRawForms[static_cast<size_t>(instruction.op)].forward;
  MG_CHECK(raw != kNoRawOp, "CPython 3.11 has no such instruction");
  switch (instruction.op) {
    case Op::LoadGlobal:
      pieces.add(raw, instruction.arg << 1);
      break;
    case Op::LoadGlobalNull:
      pieces.add(raw, instruction.arg << 1 | 1);
      break;
    case Op::Call:
      if (instruction.aux >= 0) pieces.add(RawOp::KW_NAMES, instruction.aux);
      pieces.add(RawOp::PRECALL, instruction.arg);
      pieces.add(raw, instruction.arg);
      break;
    default:
      pieces.add(raw, instruction.arg);
  }
  return pieces;
}

void Encoder::write_code(const PositionTable& positions, int32_t first_line,
                         EncodedCode& out) const {
  cpython_311::LineTableWriter lines(first_line);
  out.bytecode.reserve(static_cast<size_t>(offsets_.back()) * 2);
  auto unit = [&](uint8_t raw, uint32_t arg) {
    out.bytecode.push_back(raw);
    out.bytecode.push_back(static_cast<uint8_t>(arg));
  };
  auto keywords = positions.keywords.begin();
  constexpr auto kKwNames = static_cast<uint8_t>(RawOp::KW_NAMES);
  constexpr auto kExtended = static_cast<uint8_t>(RawOp::EXTENDED_ARG);
  for (size_t i = 0; i < instructions_.size(); ++i) {
    for (const Piece& piece : pieces_of(i)) {
      for (int32_t left = extension_units(piece.arg); left > 0; --left) {
        unit(kExtended, piece.arg >> (8 * left));
      }
      unit(piece.raw, piece.arg);
      const int32_t caches = kRawInfo[piece.raw].caches;
      for (int32_t cache = 0; cache < caches; ++cache) unit(0, 0);
      const bool own_place = piece.raw == kKwNames &&
                             keywords != positions.keywords.end() &&
                             keywords->index == static_cast<int32_t>(i);
      lines.add(units_of(piece),
                own_place ? (keywords++)->position : positions.all[i]);
    }
  }
  out.line_table = lines.take();
}

void Encoder::write_handlers(std::span<const Handler> handlers,
                             EncodedCode& out) const {
  int32_t covered = 0;
  for (const Handler& handler : handlers) {
    MG_CHECK(handler.start >= covered && handler.start < handler.end,
             "exception ranges must be sorted, disjoint and not empty");
    covered = handler.end;
    const int32_t start = offset(handler.start);
    cpython_311::write_exception_entry(
        {start, offset(handler.end) - start, offset(handler.target),
         handler.depth, handler.push_lasti},
        out.exception_table);
  }
}

}  // namespace

EncodedCode encode(std::span<const Instruction> instructions,
                   const PositionTable& positions,
                   std::span<const Handler> handlers, int32_t first_line) {
  MG_CHECK(positions.all.size() == instructions.size(),
           "every instruction needs a position");
  EncodedCode out;
  out.first_line = first_line;
  out.stack_size = max_stack_depth(instructions, handlers);
  Encoder encoder(instructions);
  encoder.lay_out();
  encoder.write_code(positions, first_line, out);
  encoder.write_handlers(handlers, out);
  return out;
}

EncodedCode join(const RawCode& code, const EncodedCode& more) {
  EncodedCode out;
  out.bytecode.assign(code.bytecode.begin(), code.bytecode.end());
  out.bytecode.insert(out.bytecode.end(), more.bytecode.begin(),
                      more.bytecode.end());
  const auto units = static_cast<int32_t>(code.bytecode.size() / 2);
  for (cpython_311::RawHandler handler :
       cpython_311::read_exception_table(more.exception_table)) {
    handler.start += units;
    handler.target += units;
    cpython_311::write_exception_entry(handler, out.exception_table);
  }
  // A line is told by the distance from the one before it.
  int32_t last_line = code.first_line;
  cpython_311::LineTableReader before(code.line_table, code.first_line);
  while (before.next())
    if (before.position().line >= 0) last_line = before.position().line;
  out.line_table.assign(code.line_table.begin(), code.line_table.end());
  cpython_311::LineTableWriter writer(last_line);
  cpython_311::LineTableReader lines(more.line_table, more.first_line);
  for (int32_t begin = 0; lines.next(); begin = lines.end())
    writer.add(lines.end() - begin, lines.position());
  const std::vector<uint8_t> table = writer.take();
  out.line_table.insert(out.line_table.end(), table.begin(), table.end());
  out.first_line = code.first_line;
  out.stack_size = std::max(code.stack_size, more.stack_size);
  return out;
}

}  // namespace magneto::bytecode
