// SPDX-License-Identifier: BSD-3-Clause
// Hash-consing: one table of all expressions, with open addressing.
#include "shapes/table.h"

#include <unordered_map>
#include <unordered_set>

#include "shapes/program.h"
#include "support/check.h"

namespace magneto::shapes {

namespace {

constexpr OperationRow kRows[] = {
#define MG_OPERATION(Name, operands, function, in_torch, printed) \
  {#Name, operands, function, InTorch::in_torch, printed},
#include "shapes/operations.def"
#undef MG_OPERATION
};

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// The type of an operation's result.
Type result_type(Operation operation, Type operand) {
  switch (operation) {
    case Operation::TrueDivide:
    case Operation::ToFloat:
      return Type::Float;
    case Operation::ToInteger:
    case Operation::Truncate:
    case Operation::Floor:
    case Operation::Ceiling:
    case Operation::Round:
      return Type::Integer;
    case Operation::Equal:
    case Operation::Less:
    case Operation::LessEqual:
      return Type::Boolean;
    default:
      return operand;
  }
}

}  // namespace

const OperationRow& row_of(Operation operation) {
  return kRows[static_cast<size_t>(operation)];
}

std::span<const OperationRow> operation_rows() { return kRows; }

Expressions::Table::Table() : slots(1024), made_(kRemembered) {
  true_ = constant(Type::Boolean, Number::of(true));
  false_ = constant(Type::Boolean, Number::of(false));
}

void Expressions::Table::grow() {
  slots.assign(slots.size() * 2, 0);
  const size_t mask = slots.size() - 1;
  for (size_t id = 0; id < all.size(); ++id) {
    size_t at = hashes[id] & mask;
    while (slots[at] != 0) at = (at + 1) & mask;
    slots[at] = static_cast<uint32_t>(id + 1);
  }
}

Expressions::Table::LookupResult Expressions::Table::look_up(
    Operation operation, Type type, std::span<const E> operands, Number value,
    SymbolId symbol) const {
  uint64_t hash =
      mix(static_cast<uint64_t>(operation) * 4 + static_cast<uint64_t>(type),
          value.bits());
  hash = mix(hash, symbol.index);
  for (E operand : operands) hash = mix(hash, operand->id);
  const size_t mask = slots.size() - 1;
  size_t at = hash & mask;
  for (; slots[at] != 0; at = (at + 1) & mask) {
    const uint32_t id = slots[at] - 1;
    if (hashes[id] != hash) continue;
    const E e = all[id];
    if (e->operation == operation && e->type == type && e->value == value &&
        e->symbol == symbol &&
        std::equal(e->operands.begin(), e->operands.end(), operands.begin(),
                   operands.end())) {
      return {e, at, hash};
    }
  }
  return {nullptr, at, hash};
}

E Expressions::Table::intern(Operation operation, Type type,
                             std::span<const E> operands, Number value,
                             SymbolId symbol) {
  const LookupResult result = look_up(operation, type, operands, value, symbol);
  if (result.found) return result.found;
  bool has_symbols = operation == Operation::Symbol;
  for (E operand : operands) has_symbols |= operand->has_symbols;
  const auto id = static_cast<uint32_t>(all.size());
  const E e = arena.make<Expression>(operation, type, has_symbols, id, value,
                                     symbol, arena.copy(operands));
  slots[result.slot] = id + 1;
  all.push_back(e);
  hashes.push_back(result.hash);
  monomials.push_back(e);
  if (all.size() * 2 > slots.size()) grow();
  return e;
}

E Expressions::Table::constant(Type type, Number value) {
  return intern(Operation::Constant, type, {}, value);
}

E Expressions::Table::integer(int64_t value) {
  return constant(Type::Integer, Number::of(value));
}

E Expressions::Table::fold(Operation operation, Type type,
                           std::span<const E> operands) {
  Number value = operands[0]->value;
  if (operands.size() == 1) {
    const auto result = apply(operation, type, value, {});
    if (!result) return nullptr;
    value = *result;
  }
  for (E operand : operands.subspan(1)) {
    const auto result = apply(operation, type, value, operand->value);
    if (!result) return nullptr;
    value = *result;
  }
  return constant(result_type(operation, type), value);
}

E Expressions::Table::make(Operation operation, std::span<const E> operands) {
  MG_CHECK(!operands.empty(), "leaves aren't made of operands");
  const Type type = operands[0]->type;
  bool is_constant = true;
  for (E operand : operands) {
    MG_CHECK(operand->type == type, "operands are of one type");
    is_constant &= operand->is_constant();
  }
  if (is_constant) return fold(operation, type, operands);
  return dispatch(operation, type, operands);
}

E Expressions::Table::binary(Operation operation, E a, E b) {
  const uint64_t hash =
      mix(a->id * 64u + static_cast<uint64_t>(operation), b->id);
  Made& made = made_[hash & (kRemembered - 1)];
  if (made.a == a && made.b == b && made.operation == operation) {
    return made.result;
  }
  const E both[] = {a, b};
  const E result = make(operation, both);
  made = {operation, a, b, result};
  return result;
}

E Expressions::Table::dispatch(Operation operation, Type type,
                               std::span<const E> operands) {
  const bool is_int = type == Type::Integer;
  const E a = operands[0];
  const E b = operands.size() > 1 ? operands[1] : nullptr;
  switch (operation) {
    case Operation::Add:
      if (is_int) return add_ints(operands);
      break;
    case Operation::Multiply:
      if (is_int) return multiply_ints(operands);
      break;
    case Operation::FloorDivide:
      if (is_int) return floor_divide(a, b);
      break;
    case Operation::Modulo:
      if (is_int) return modulo(a, b);
      break;
    case Operation::Power:
      if (is_int) return power(a, b);
      break;
    case Operation::Minimum:
    case Operation::Maximum:
      if (is_int) return extremum(operation, operands);
      break;
    case Operation::Absolute:
      return absolute(a);
    case Operation::BitAnd:
    case Operation::BitOr:
    case Operation::BitXor:
      return bitwise(operation, a, b);
    case Operation::ShiftLeft:
    case Operation::ShiftRight:
      return shift(operation, a, b);
    case Operation::Equal:
    case Operation::Less:
    case Operation::LessEqual:
      return compare(operation, a, b);
    case Operation::And:
    case Operation::Or:
      return logical(operation, operands);
    case Operation::Not:
      return logical_not(a);
    default:
      break;
  }
  // Operations on floats are never reordered: they go from left to right.
  if (operands.size() > 2) {
    E result = binary(operation, a, b);
    for (E operand : operands.subspan(2)) {
      if (!result) return nullptr;
      result = binary(operation, result, operand);
    }
    return result;
  }
  if (is_division(operation) && b->is_constant() &&
      (is_int ? b->value.integer() == 0 : b->value.real() == 0)) {
    return nullptr;
  }
  return intern(operation, result_type(operation, type), operands);
}

// ---- Expressions

Expressions::Expressions() : table_(std::make_unique<Table>()) {}
Expressions::~Expressions() = default;

E Expressions::integer(int64_t value) { return table_->integer(value); }
E Expressions::real(double value) {
  return table_->constant(Type::Float, Number::of(value));
}
E Expressions::boolean(bool value) { return table_->boolean(value); }
E Expressions::constant(Type type, Number value) {
  return table_->constant(type, value);
}
E Expressions::symbol(SymbolId id, Type type) {
  return table_->intern(Operation::Symbol, type, {}, {}, id);
}
E Expressions::make(Operation operation, std::span<const E> operands) {
  if (operands.size() == 2) {
    return table_->binary(operation, operands[0], operands[1]);
  }
  return table_->make(operation, operands);
}
E Expressions::negate(E a) {
  if (!a) return nullptr;
  return multiply(a->type == Type::Float ? real(-1.0) : integer(-1), a);
}
E Expressions::subtract(E a, E b) { return add(a, negate(b)); }
size_t Expressions::size() const { return table_->all.size(); }

E Expressions::at(uint32_t id) const { return table_->all[id]; }

E Expressions::substitute_with(E e, E (*replacement)(void*, SymbolId),
                               void* data) {
  std::unordered_map<uint32_t, E> done;
  const auto walk = [&](const auto& self, E part) -> E {
    if (!part->has_symbols) return part;
    if (part->is_symbol()) {
      const E other = replacement(data, part->symbol);
      return other ? other : part;
    }
    if (const auto found = done.find(part->id); found != done.end()) {
      return found->second;
    }
    Table::List operands;
    bool changed = false;
    E result = nullptr;
    for (E operand : part->operands) {
      const E other = self(self, operand);
      if (!other) return nullptr;
      changed |= other != operand;
      operands.push_back(other);
    }
    result = changed ? make(part->operation, operands) : part;
    done.emplace(part->id, result);
    return result;
  };
  return walk(walk, e);
}

void visit_symbols(E e, void (*visit)(void*, SymbolId), void* data) {
  std::unordered_set<uint32_t> seen;
  const auto walk = [&](const auto& self, E part) -> void {
    if (!part->has_symbols) return;
    if (part == e ? part->is_symbol() : !seen.insert(part->id).second) {
      if (part == e) visit(data, part->symbol);
      return;
    }
    if (part->is_symbol()) {
      visit(data, part->symbol);
      return;
    }
    for (E operand : part->operands) self(self, operand);
  };
  walk(walk, e);
}

}  // namespace magneto::shapes
