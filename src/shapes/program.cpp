// SPDX-License-Identifier: BSD-3-Clause
// Compiling expressions to steps, and running them.
#include "shapes/program.h"

#include <algorithm>

namespace magneto::shapes {

uint32_t Program::add(E e) {
  const auto before = [](const std::pair<E, uint32_t>& entry, E other) {
    return entry.first->id < other->id;
  };
  const auto place = std::lower_bound(known_.begin(), known_.end(), e, before);
  if (place != known_.end() && place->first == e) return place->second;

  const auto next = [&](Number value = {}) {
    registers_.push_back(value);
    return static_cast<uint32_t>(registers_.size() - 1);
  };
  uint32_t result = 0;
  if (e->is_constant()) {
    result = next(e->value);
  } else if (e->is_symbol()) {
    result = next();
    loads_.push_back({e->symbol, result});
    symbols_.insert(
        std::lower_bound(symbols_.begin(), symbols_.end(), e->symbol),
        e->symbol);
  } else {
    const Type type = e->operands[0]->type;
    result = add(e->operands[0]);
    uint32_t right = result;
    size_t i = 1;
    do {  // once for an operation on one operand
      if (e->operands.size() > 1) right = add(e->operands[i]);
      const uint32_t left = result;
      result = next();
      steps_.push_back({e->operation, type, false, result, left, right});
    } while (++i < e->operands.size());
  }
  known_.insert(std::lower_bound(known_.begin(), known_.end(), e, before),
                {e, result});
  return result;
}

void Program::check(E condition) {
  const uint32_t reg = add(condition);
  steps_.push_back({Operation::Constant, Type::Boolean, true, reg, reg, reg});
  ++checks_;
}

bool Program::run(std::span<const Number> symbols) noexcept {
  failed_ = 0;
  for (const auto& [symbol, reg] : loads_) {
    if (symbol.index >= symbols.size()) return false;
    registers_[reg] = symbols[symbol.index];
  }
  Number* registers = registers_.data();
  for (const Step& step : steps_) {
    if (step.is_check) {
      if (!registers[step.result].truth()) return false;
      ++failed_;
      continue;
    }
    if (step.type == Type::Integer) {
      // What guards mostly are made of, without a call.
      const int64_t left = registers[step.left].integer();
      const int64_t right = registers[step.right].integer();
      int64_t value = 0;
      switch (step.operation) {
        case Operation::Add:
          if (__builtin_add_overflow(left, right, &value)) return false;
          registers[step.result] = Number::of(value);
          continue;
        case Operation::Multiply:
          if (__builtin_mul_overflow(left, right, &value)) return false;
          registers[step.result] = Number::of(value);
          continue;
        case Operation::LessEqual:
          registers[step.result] = Number::of(left <= right);
          continue;
        case Operation::Equal:
          registers[step.result] = Number::of(left == right);
          continue;
        default:
          break;
      }
    }
    const auto value = apply(step.operation, step.type, registers[step.left],
                             registers[step.right]);
    if (!value) return false;
    registers[step.result] = *value;
  }
  return true;
}

}  // namespace magneto::shapes
