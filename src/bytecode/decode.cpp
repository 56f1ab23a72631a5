// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/decode.h"

#include <algorithm>

#include "bytecode/raw_311.h"
#include "bytecode/tables_311.h"
#include "support/check.h"

namespace magneto::bytecode {
namespace {

using cpython_311::Form;
using cpython_311::kRawInfo;
using cpython_311::RawInfo;

// The last instruction that starts at or before `unit`, or -1. Jumps are few
// enough for a search each to be cheaper than a map of all units.
int32_t index_of_unit(std::span<const Instruction> instructions, int32_t unit) {
  auto after = std::upper_bound(
      instructions.begin(), instructions.end(), unit,
      [](int32_t u, const Instruction& i) { return u < i.offset; });
  return static_cast<int32_t>(after - instructions.begin()) - 1;
}

// The walk over the code units. Jumps are first written with the code unit they
// go to, and pointed to instructions when all of these are known.
class Decoder {
 public:
  Decoder(const RawCode& raw, Code& code)
      : bytes_(raw.bytecode),
        unit_count_(static_cast<int32_t>(raw.bytecode.size() / 2)),
        instructions_(code.instructions) {
    MG_CHECK(raw.bytecode.size() % 2 == 0, "bytecode is made of pairs");
  }

  void run();
  // The instruction that starts at `unit`; the end counts as one.
  int32_t index_of(int32_t unit) const;

 private:
  void step(const RawInfo& raw, int32_t arg);
  void emit(Op op, int32_t arg, int32_t aux = -1);
  void emit_jump(Op op, int64_t unit, int32_t aux = -1);
  void check_not_in_call() const {
    MG_CHECK(kwnames_ < 0 && call_args_ < 0,
             "KW_NAMES, PRECALL and CALL must follow one another");
  }

  std::span<const uint8_t> bytes_;
  int32_t unit_count_;
  std::vector<Instruction>& instructions_;
  std::vector<int32_t> jumps_;  // instructions with an operand to resolve

  int32_t start_ = 0;       // first unit of the current instruction
  int32_t next_ = 0;        // first unit of the next one
  int32_t kwnames_ = -1;    // operand of a KW_NAMES that waits for its call
  int32_t call_args_ = -1;  // operand of a PRECALL that waits for its CALL
};

void Decoder::run() {
  instructions_.reserve(static_cast<size_t>(unit_count_));
  uint32_t extended = 0;
  bool inside = false;  // behind a prefix of the current instruction
  for (int32_t unit = 0; unit < unit_count_; unit = next_) {
    const size_t at = static_cast<size_t>(unit) * 2;
    const RawInfo raw = kRawInfo[bytes_[at]];
    const uint32_t arg = extended << 8 | bytes_[at + 1];
    if (!inside) start_ = unit;
    next_ = unit + 1 + raw.caches;
    extended = raw.form == Form::ExtendedArg ? arg : 0;
    inside = raw.form == Form::ExtendedArg;
    if (inside) continue;
    step(raw, static_cast<int32_t>(arg));
    inside = kwnames_ >= 0 || call_args_ >= 0;
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
  if (raw.form != Form::Precall && raw.form != Form::Call) check_not_in_call();
  switch (raw.form) {
    case Form::Plain:
      return emit(raw.op, arg);
    case Form::LoadGlobal:
      return emit(arg & 1 ? Op::LoadGlobalNull : Op::LoadGlobal, arg >> 1);
    case Form::Forward:
      return emit_jump(raw.op, int64_t{next_} + arg);
    case Form::Backward:
      return emit_jump(raw.op, int64_t{next_} - arg);
    case Form::NoInterrupt:
      return emit_jump(raw.op, int64_t{next_} - arg, kNoInterruptCheck);
    case Form::KwNames:
      kwnames_ = arg;
      return;
    case Form::Precall:
      MG_CHECK(call_args_ < 0, "a CALL must follow a PRECALL");
      call_args_ = arg;
      return;
    case Form::Call:
      MG_CHECK(call_args_ == arg, "a CALL must repeat its PRECALL's operand");
      emit(raw.op, arg, kwnames_);
      kwnames_ = call_args_ = -1;
      return;
    case Form::Cache:
    case Form::ExtendedArg:
    case Form::Invalid:
      MG_CHECK(false, "bytecode has an opcode that CPython 3.11 doesn't");
  }
}

inline void Decoder::emit(Op op, int32_t arg, int32_t aux) {
  instructions_.push_back({op, arg, aux, start_});
}

void Decoder::emit_jump(Op op, int64_t unit, int32_t aux) {
  MG_CHECK(unit >= 0 && unit < unit_count_, "a jump must not leave the code");
  jumps_.push_back(static_cast<int32_t>(instructions_.size()));
  emit(op, static_cast<int32_t>(unit), aux);
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

Code decode(const RawCode& raw) {
  Code code;
  code.first_line = raw.first_line;
  code.stack_size = raw.stack_size;
  code.local_count = raw.local_count;
  code.line_table_ = raw.line_table;
  code.unit_count_ = static_cast<int32_t>(raw.bytecode.size() / 2);
  Decoder decoder(raw, code);
  decoder.run();
  for (const auto& entry :
       cpython_311::read_exception_table(raw.exception_table)) {
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
  cpython_311::LineTableReader reader(line_table_, first_line);
  // Where the instruction's `unit` comes from; units are asked for in order.
  auto at = [&](int32_t unit) {
    bool known = true;
    while (known && reader.end() <= unit) known = reader.next();
    return known ? reader.position() : Position{};
  };
  for (int32_t i = 0; i < size(); ++i) {
    const Instruction& instruction = (*this)[i];
    const bool has_keywords =
        instruction.op == Op::Call && instruction.aux >= 0;
    const Position first = has_keywords ? at(instruction.offset) : Position{};
    const int32_t end = i + 1 < size() ? (*this)[i + 1].offset : unit_count_;
    // The last unit speaks for an instruction: that of a fused call is CALL's.
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
