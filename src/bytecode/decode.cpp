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

constexpr int32_t kNoInstruction = -1;

// The walk over the code units. Jumps are first written with the code unit they
// go to, and pointed to instructions when all of these are known.
class Decoder {
 public:
  Decoder(const RawCode& raw, Code& code)
      : bytes_(raw.bytecode),
        unit_count_(static_cast<int32_t>(raw.bytecode.size() / 2)),
        instructions_(code.instructions),
        index_of_unit_(static_cast<size_t>(unit_count_), kNoInstruction) {
    MG_CHECK(raw.bytecode.size() % 2 == 0, "bytecode is made of pairs");
  }

  void run();
  // The instruction that starts at `unit`; the end counts as one.
  int32_t index_of(int32_t unit) const;

 private:
  void step(const RawInfo& raw, int32_t arg);
  void emit(Op op, int32_t arg, int32_t aux = -1);
  void emit_jump(Op op, int32_t unit, int32_t aux = -1);
  void check_not_in_call() const {
    MG_CHECK(kwnames_ < 0 && call_args_ < 0,
             "KW_NAMES, PRECALL and CALL must follow one another");
  }

  std::span<const uint8_t> bytes_;
  int32_t unit_count_;
  std::vector<Instruction>& instructions_;
  std::vector<int32_t> index_of_unit_;
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
    MG_CHECK(target < static_cast<int32_t>(instructions_.size()),
             "a jump must not leave the code");
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
      return emit_jump(raw.op, next_ + arg);
    case Form::Backward:
      return emit_jump(raw.op, next_ - arg);
    case Form::NoInterrupt:
      return emit_jump(raw.op, next_ - arg, kNoInterruptCheck);
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
  index_of_unit_[static_cast<size_t>(start_)] =
      static_cast<int32_t>(instructions_.size());
  instructions_.push_back({op, arg, aux, start_});
}

void Decoder::emit_jump(Op op, int32_t unit, int32_t aux) {
  jumps_.push_back(static_cast<int32_t>(instructions_.size()));
  emit(op, unit, aux);
}

int32_t Decoder::index_of(int32_t unit) const {
  if (unit == unit_count_) return static_cast<int32_t>(instructions_.size());
  MG_CHECK(unit >= 0 && unit < unit_count_, "an offset must lie in the code");
  const int32_t index = index_of_unit_[static_cast<size_t>(unit)];
  MG_CHECK(index != kNoInstruction,
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

const std::vector<Position>& Code::positions() const {
  if (!positions_.empty()) return positions_;
  positions_.reserve(instructions.size());
  cpython_311::LineTableReader reader(line_table_, first_line);
  for (size_t i = 0; i < instructions.size(); ++i) {
    // An instruction's last unit speaks for it: that of a fused call is CALL's.
    const int32_t end =
        i + 1 < instructions.size() ? instructions[i + 1].offset : unit_count_;
    bool known = true;
    while (known && reader.end() < end) known = reader.next();
    positions_.push_back(known ? reader.position() : Position{});
  }
  return positions_;
}

int32_t Code::index_at(int32_t unit) const {
  auto after = std::upper_bound(
      instructions.begin(), instructions.end(), unit,
      [](int32_t u, const Instruction& i) { return u < i.offset; });
  MG_CHECK(after != instructions.begin() && unit < unit_count_,
           "a code unit must lie in the code");
  return static_cast<int32_t>(after - instructions.begin()) - 1;
}

}  // namespace magneto::bytecode
