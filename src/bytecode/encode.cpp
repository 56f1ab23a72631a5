// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/encode.h"

#include <algorithm>

#include "bytecode/stack_effect.h"
#include "support/check.h"

namespace magneto::bytecode {
namespace {

int32_t extension_units(uint32_t arg) {
  return (arg > 0xff) + (arg > 0xffff) + (arg > 0xffffff);
}

class Encoder {
 public:
  Encoder(const VersionTable& version,
          std::span<const Instruction> instructions)
      : version_(version),
        instructions_(instructions),
        offsets_(instructions.size() + 1) {}

  // Chooses the size of every instruction: jumps start short and grow until
  // each reaches its target. No distance ever shrinks on the way, so the sizes
  // end as small as they can be, which is what CPython's assembler finds.
  void lay_out();
  void write_code(const PositionTable& positions, int32_t first_line,
                  EncodedCode& out) const;
  void write_handlers(std::span<const Handler> handlers,
                      EncodedCode& out) const;

 private:
  RawInstructions raw_of(size_t i) const;
  RawInstruction raw_jump(size_t i) const;
  int32_t units_of(const RawInstruction& raw) const {
    return 1 + extension_units(raw.arg) + version_.opcodes[raw.opcode].caches;
  }
  int32_t offset(int32_t index) const {
    MG_CHECK(index >= 0 && static_cast<size_t>(index) < offsets_.size(),
             "a target must lie in the code");
    return offsets_[static_cast<size_t>(index)];
  }

  const VersionTable& version_;
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
    for (const RawInstruction& raw : raw_of(i)) units[i] += units_of(raw);
  }
  bool grew = true;
  while (grew) {
    grew = false;
    for (size_t i = 0; i < count; ++i) offsets_[i + 1] = offsets_[i] + units[i];
    for (const size_t i : jumps) {
      const int32_t needed = units_of(raw_jump(i));
      if (needed <= units[i]) continue;
      units[i] = needed;
      grew = true;
    }
  }
}

RawInstruction Encoder::raw_jump(size_t i) const {
  const Instruction& instruction = instructions_[i];
  const int32_t distance = offset(instruction.arg) - offsets_[i + 1];
  const RawForms& forms = version_.forms[static_cast<size_t>(instruction.op)];
  // A jump to itself or to what is before it goes backward.
  const bool backward = instruction.arg <= static_cast<int32_t>(i);
  uint8_t opcode = backward ? forms.backward : forms.forward;
  if (backward && instruction.op == Op::Jump &&
      instruction.aux == kNoInterruptCheck)
    opcode = version_.jump_without_interrupt_check;
  MG_CHECK(opcode != kNoRawOp,
           "this CPython has no such jump in this direction");
  return {opcode, static_cast<uint32_t>(backward ? -distance : distance)};
}

RawInstructions Encoder::raw_of(size_t i) const {
  const Instruction& instruction = instructions_[i];
  if (info(instruction.op).jumps) {
    const RawInstruction jump = raw_jump(i);
    RawInstructions raw;
    raw.add(jump.opcode, static_cast<int32_t>(jump.arg));
    return raw;
  }
  const uint8_t opcode =
      version_.forms[static_cast<size_t>(instruction.op)].forward;
  MG_CHECK(opcode != kNoRawOp, "this CPython has no such instruction");
  return version_.encode_own(instruction, opcode);
}

void Encoder::write_code(const PositionTable& positions, int32_t first_line,
                         EncodedCode& out) const {
  std::vector<LineEntry> lines;
  lines.reserve(instructions_.size());
  out.bytecode.reserve(static_cast<size_t>(offsets_.back()) * 2);
  auto unit = [&](uint8_t opcode, uint32_t arg) {
    out.bytecode.push_back(opcode);
    out.bytecode.push_back(static_cast<uint8_t>(arg));
  };
  auto keywords = positions.keywords.begin();
  for (size_t i = 0; i < instructions_.size(); ++i) {
    for (const RawInstruction& raw : raw_of(i)) {
      for (int32_t left = extension_units(raw.arg); left > 0; --left)
        unit(version_.extended_arg, raw.arg >> (8 * left));
      unit(raw.opcode, raw.arg);
      const int32_t caches = version_.opcodes[raw.opcode].caches;
      for (int32_t cache = 0; cache < caches; ++cache) unit(0, 0);
      const bool own_place = raw.names_keywords &&
                             keywords != positions.keywords.end() &&
                             keywords->index == static_cast<int32_t>(i);
      lines.push_back({units_of(raw),
                       own_place ? (keywords++)->position : positions.all[i]});
    }
  }
  out.line_table = version_.write_lines(lines, first_line);
}

void Encoder::write_handlers(std::span<const Handler> handlers,
                             EncodedCode& out) const {
  int32_t covered = 0;
  for (const Handler& handler : handlers) {
    MG_CHECK(handler.start >= covered && handler.start < handler.end,
             "exception ranges must be sorted, disjoint and not empty");
    covered = handler.end;
    const int32_t start = offset(handler.start);
    version_.write_handler(
        {start, offset(handler.end) - start, offset(handler.target),
         handler.depth, handler.push_lasti},
        out.exception_table);
  }
}

}  // namespace

void RawInstructions::add(uint8_t opcode, int32_t arg, bool names_keywords) {
  MG_CHECK(arg >= 0, "an operand must not be negative");
  items_[count_++] = {opcode, static_cast<uint32_t>(arg), names_keywords};
}

EncodedCode encode(const VersionTable& version,
                   std::span<const Instruction> instructions,
                   const PositionTable& positions,
                   std::span<const Handler> handlers, int32_t first_line) {
  MG_CHECK(positions.all.size() == instructions.size(),
           "every instruction needs a position");
  EncodedCode out;
  out.first_line = first_line;
  out.stack_size = max_stack_depth(instructions, handlers);
  Encoder encoder(version, instructions);
  encoder.lay_out();
  encoder.write_code(positions, first_line, out);
  encoder.write_handlers(handlers, out);
  return out;
}

EncodedCode join(const VersionTable& version, const RawCode& code,
                 const EncodedCode& more) {
  EncodedCode out;
  out.bytecode.assign(code.bytecode.begin(), code.bytecode.end());
  out.bytecode.insert(out.bytecode.end(), more.bytecode.begin(),
                      more.bytecode.end());
  const auto units = static_cast<int32_t>(code.bytecode.size() / 2);
  for (RawHandler handler : version.read_handlers(more.exception_table)) {
    handler.start += units;
    handler.target += units;
    version.write_handler(handler, out.exception_table);
  }
  // A line is told by the distance from the one before it.
  int32_t last_line = code.first_line;
  for (const LineEntry& entry :
       version.read_lines(code.line_table, code.first_line))
    if (entry.position.line >= 0) last_line = entry.position.line;
  out.line_table.assign(code.line_table.begin(), code.line_table.end());
  const std::vector<uint8_t> table = version.write_lines(
      version.read_lines(more.line_table, more.first_line), last_line);
  out.line_table.insert(out.line_table.end(), table.begin(), table.end());
  out.first_line = code.first_line;
  out.stack_size = std::max(code.stack_size, more.stack_size);
  return out;
}

}  // namespace magneto::bytecode
