// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/liveness.h"

#include <bit>

#include "support/check.h"

namespace magneto::bytecode {
namespace {

// What an instruction does to the slot it names.
enum class Access : uint8_t { None, Read, Write, ReadAndWrite };

Access access(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::LoadFast:
    case Op::LoadClosure:
    case Op::LoadDeref:
    case Op::LoadClassDeref:
    case Op::StoreDeref:  // writes into the cell, which it needs
    case Op::DeleteDeref:
      return Access::Read;
    case Op::StoreFast:
      return Access::Write;
    case Op::DeleteFast:  // raises when there is nothing to delete
    case Op::MakeCell:    // takes what the slot holds into the new cell
      return Access::ReadAndWrite;
    default:
      return Access::None;
  }
}

}  // namespace

Liveness::Liveness(const Code& code, std::span<const int32_t> pinned)
    : words_((static_cast<size_t>(code.local_count) + 63) / 64),
      live_(code.instructions.size() * words_) {
  const int32_t count = code.size();
  std::vector<uint64_t> base(words_);
  auto bit_of = [&](int32_t local) {
    MG_CHECK(local >= 0 && local < code.local_count,
             "a local must be one of the code's");
    return uint64_t{1} << (local % 64);
  };
  for (const int32_t local : pinned) {
    const uint64_t bit = bit_of(local);
    base[static_cast<size_t>(local) / 64] |= bit;
  }

  std::vector<uint64_t> row(words_);
  auto join = [&](int32_t index) {
    const uint64_t* other = &live_[static_cast<size_t>(index) * words_];
    for (size_t w = 0; w < words_; ++w) row[w] |= other[w];
  };
  // Backward over the code until nothing changes: one round more than loops are
  // nested, in practice.
  bool changed = words_ > 0;
  while (changed) {
    changed = false;
    auto handler = code.handlers.rbegin();
    for (int32_t i = count - 1; i >= 0; --i) {
      const Instruction& instruction = code[i];
      const OpInfo& op = info(instruction.op);
      for (size_t w = 0; w < words_; ++w) row[w] = base[w];
      if (!op.terminates && i + 1 < count) join(i + 1);
      if (op.jumps) join(instruction.arg);
      const Access how = access(instruction);
      if (how != Access::None) {
        const uint64_t bit = bit_of(instruction.arg);
        uint64_t& slots = row[static_cast<size_t>(instruction.arg) / 64];
        if (how != Access::Read) slots &= ~bit;
        if (how != Access::Write) slots |= bit;
        // Pinned ones stay live.
        slots |= base[static_cast<size_t>(instruction.arg) / 64];
      }
      while (handler != code.handlers.rend() && i < handler->start) ++handler;
      if (handler != code.handlers.rend() && i < handler->end) {
        join(handler->target);
      }
      uint64_t* known = &live_[static_cast<size_t>(i) * words_];
      for (size_t w = 0; w < words_; ++w) {
        changed |= known[w] != row[w];
        known[w] = row[w];
      }
    }
  }
}

std::vector<int32_t> Liveness::live_at(int32_t index) const {
  std::vector<int32_t> locals;
  for (size_t w = 0; w < words_; ++w) {
    for (uint64_t bits = word(index, static_cast<int32_t>(w)); bits != 0;
         bits &= bits - 1) {
      locals.push_back(static_cast<int32_t>(w) * 64 + std::countr_zero(bits));
    }
  }
  return locals;
}

}  // namespace magneto::bytecode
