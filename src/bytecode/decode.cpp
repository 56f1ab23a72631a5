// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/decode.h"

#include <algorithm>

#include "support/check.h"

namespace magneto::bytecode {
namespace {

// The last instruction that starts at or before `unit`, or -1. Jumps are few
// enough for a search each to be cheaper than a map of all units.
int32_t index_of_unit(std::span<const Instruction> instructions, int32_t unit) {
  auto after = std::upper_bound(
      instructions.begin(), instructions.end(), unit,
      [](int32_t u, const Instruction& i) { return u < i.offset; });
  return static_cast<int32_t>(after - instructions.begin()) - 1;
}

// The walk over the code units. A jump is first written with the code unit that
// it goes to, which becomes an instruction's index when all are known.
class Decoder {
 public:
  Decoder(const VersionTable& version, const RawCode& raw, Code& code)
      : version_(version),
        bytes_(raw.bytecode),
        unit_count_(static_cast<int32_t>(raw.bytecode.size() / 2)),
        instructions_(code.instructions),
        fusion_{code.instructions} {
    MG_CHECK(raw.bytecode.size() % 2 == 0, "bytecode is made of pairs");
  }

  void run();
  // The instruction that starts at `unit`; the end counts as one.
  int32_t index_of(int32_t unit) const;

 private:
  void step(const RawInfo& raw, int32_t arg);
  void emit_jump(Op op, int64_t unit, int32_t aux = -1);

  const VersionTable& version_;
  std::span<const uint8_t> bytes_;
  int32_t unit_count_;
  std::vector<Instruction>& instructions_;
  std::vector<int32_t> jumps_;  // instructions with an operand to resolve

  Fusion fusion_;     // the current instruction, from its first unit
  int32_t next_ = 0;  // first unit of the next one
};

void Decoder::run() {
  instructions_.reserve(static_cast<size_t>(unit_count_));
  uint32_t extended = 0;
  bool inside = false;  // after a prefix of the current instruction
  for (int32_t unit = 0; unit < unit_count_; unit = next_) {
    const size_t at = static_cast<size_t>(unit) * 2;
    const RawInfo raw = version_.opcodes[bytes_[at]];
    const uint32_t arg = extended << 8 | bytes_[at + 1];
    if (!inside) fusion_.start = unit;
    next_ = unit + 1 + raw.caches;
    extended = raw.kind == OpcodeKind::ExtendedArg ? arg : 0;
    inside = raw.kind == OpcodeKind::ExtendedArg;
    if (inside) continue;
    step(raw, static_cast<int32_t>(arg));
    inside = fusion_.is_open();
  }
  MG_CHECK(!inside && next_ == unit_count_,
           "bytecode ends inside an instruction");
  for (const int32_t jump : jumps_) {
    int32_t& target = instructions_[static_cast<size_t>(jump)].arg;
    target = index_of(target);
  }
  instructions_.shrink_to_fit();  // a Code lives as long as its code object
}

inline void Decoder::step(const RawInfo& raw, int32_t arg) {
  if (raw.kind == OpcodeKind::Own)
    return version_.decode_own(raw.base, arg, fusion_);
  MG_CHECK(!fusion_.is_open(),
           "the opcodes of one instruction must follow one another");
  switch (raw.kind) {
    case OpcodeKind::Plain:
      return fusion_.emit(raw.op, arg);
    case OpcodeKind::Forward:
      return emit_jump(raw.op, int64_t{next_} + arg);
    case OpcodeKind::Backward:
      return emit_jump(raw.op, int64_t{next_} - arg);
    case OpcodeKind::NoInterrupt:
      return emit_jump(raw.op, int64_t{next_} - arg, kNoInterruptCheck);
    case OpcodeKind::Own:
    case OpcodeKind::ExtendedArg:
    case OpcodeKind::Invalid:
      MG_CHECK(false, "bytecode has an opcode that this CPython doesn't");
  }
}

void Decoder::emit_jump(Op op, int64_t unit, int32_t aux) {
  MG_CHECK(unit >= 0 && unit < unit_count_, "a jump must not leave the code");
  jumps_.push_back(static_cast<int32_t>(instructions_.size()));
  fusion_.emit(op, static_cast<int32_t>(unit), aux);
}

int32_t Decoder::index_of(int32_t unit) const {
  if (unit == unit_count_) return static_cast<int32_t>(instructions_.size());
  const int32_t index = index_of_unit(instructions_, unit);
  MG_CHECK(
      index >= 0 && instructions_[static_cast<size_t>(index)].offset == unit,
      "an offset must be where an instruction starts");
  return index;
}

}  // namespace

Code decode(const VersionTable& version, const RawCode& raw) {
  Code code;
  code.version_ = &version;
  code.first_line = raw.first_line;
  code.stack_size = raw.stack_size;
  code.local_count = raw.local_count;
  code.line_table_ = raw.line_table;
  code.unit_count_ = static_cast<int32_t>(raw.bytecode.size() / 2);
  Decoder decoder(version, raw, code);
  decoder.run();
  for (const RawHandler& entry : version.read_handlers(raw.exception_table)) {
    const Handler handler{decoder.index_of(entry.start),
                          decoder.index_of(entry.start + entry.size),
                          decoder.index_of(entry.target), entry.depth,
                          entry.push_lasti};
    MG_CHECK(handler.target < code.size(),
             "an exception handler must lie in the code");
    MG_CHECK(code.handlers.empty() || handler.start >= code.handlers.back().end,
             "the exception table must be sorted and disjoint");
    code.handlers.push_back(handler);
  }
  return code;
}

const PositionTable& Code::position_table() const {
  if (!positions_.all.empty()) return positions_;
  positions_.all.reserve(instructions.size());
  std::vector<LineEntry> lines;
  if (version_) lines = version_->read_lines(line_table_, first_line);
  auto entry = lines.begin();
  int32_t entry_start = 0;
  // Where the instruction's `unit` comes from; units are asked for in order.
  auto at = [&](int32_t unit) {
    while (entry != lines.end() && entry_start + entry->units <= unit)
      entry_start += (entry++)->units;
    return entry != lines.end() ? entry->position : Position{};
  };
  for (int32_t i = 0; i < size(); ++i) {
    const Instruction& instruction = (*this)[i];
    const bool has_keywords =
        instruction.op == Op::Call && instruction.aux >= 0;
    const Position first = has_keywords ? at(instruction.offset) : Position{};
    const int32_t end = i + 1 < size() ? (*this)[i + 1].offset : unit_count_;
    // An instruction has the source range of its last unit: of CALL's, if
    // fused.
    positions_.all.push_back(at(end - 1));
    if (has_keywords && first != positions_.all.back()) {
      positions_.keywords.push_back({i, first});
    }
  }
  return positions_;
}

int32_t Code::index_at(int32_t unit) const {
  const int32_t index = index_of_unit(instructions, unit);
  MG_CHECK(index >= 0 && unit < unit_count_,
           "a code unit must lie in the code");
  return index;
}

}  // namespace magneto::bytecode
