// SPDX-License-Identifier: BSD-3-Clause
// Expressions over symbols. Equal expressions are one object (hash-consing), so
// they are compared by address; they live as long as their table.
//
// What is made is canonical: int sums are flat, with like terms together and
// sorted; int products are expanded over sums; constants are folded;
// comparisons of ints have the form `sum <relation> 0` with coprime
// coefficients. So two linear forms that are always equal are the same
// expression.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "shapes/number.h"
#include "support/strong_id.h"

namespace magneto::shapes {

using SymbolId = StrongId<struct SymbolTag>;

enum class Operation : uint8_t {
#define MG_OPERATION(Name, operands, function, in_torch, printed) Name,
#include "shapes/operations.def"
#undef MG_OPERATION
};

// What Python refuses for a second operand that is zero.
constexpr bool is_division(Operation operation) {
  return operation == Operation::TrueDivide ||
         operation == Operation::FloorDivide || operation == Operation::Modulo;
}

struct Expression {
  Operation operation;
  Type type;
  bool has_symbols;  // false: a constant
  uint32_t id;       // dense, in the order of making
  Number value;      // Constant
  SymbolId symbol;   // Symbol
  std::span<const Expression* const> operands;

  bool is_constant() const { return operation == Operation::Constant; }
  bool is_symbol() const { return operation == Operation::Symbol; }
};

using E = const Expression*;

class Expressions {
 public:
  Expressions();
  ~Expressions();
  Expressions(const Expressions&) = delete;
  Expressions& operator=(const Expressions&) = delete;

  E integer(int64_t value);
  E real(double value);
  E boolean(bool value);
  E constant(Type type, Number value);
  E symbol(SymbolId id, Type type);

  // The canonical form of an operation on operands of the types that its row
  // asks for. Null if it can't be represented: a constant that 64 bits don't
  // hold, or an operation that always raises (division by the constant zero,
  // sqrt(-1.0), shift by a negative constant, int ** negative constant).
  E make(Operation operation, std::span<const E> operands);
  E make(Operation operation, E a) { return make(operation, std::span(&a, 1)); }
  E make(Operation operation, E a, E b) {
    const E both[] = {a, b};
    return make(operation, both);
  }

  // Common ones; null where an operand is null, too.
  E add(E a, E b) { return checked(Operation::Add, a, b); }
  E multiply(E a, E b) { return checked(Operation::Multiply, a, b); }
  E subtract(E a, E b);
  E negate(E a);
  E equal(E a, E b) { return checked(Operation::Equal, a, b); }
  E less(E a, E b) { return checked(Operation::Less, a, b); }
  E less_equal(E a, E b) { return checked(Operation::LessEqual, a, b); }
  E logical_not(E a) { return a ? make(Operation::Not, a) : nullptr; }

  // `e` with each symbol for which `replacement` gives an expression (not null)
  // replaced by it, and canonical again. Null as make().
  template <class Replacement>
  E substitute(E e, Replacement&& replacement) {
    auto call = [](void* function, SymbolId id) -> E {
      return (*static_cast<std::remove_reference_t<Replacement>*>(function))(
          id);
    };
    return substitute_with(e, call, untyped(replacement));
  }

  size_t size() const;
  // The one with that id.
  E at(uint32_t id) const;

  template <class Function>
  static void* untyped(Function& function) {
    return const_cast<void*>(static_cast<const void*>(&function));
  }

  // The inside, for this room.
  struct Table;
  Table& table() { return *table_; }

 private:
  E checked(Operation operation, E a, E b) {
    return a && b ? make(operation, a, b) : nullptr;
  }
  E substitute_with(E e, E (*replacement)(void*, SymbolId), void* data);

  std::unique_ptr<Table> table_;
};

// Calls `visit(SymbolId)` once for each symbol in `e`.
void visit_symbols(E e, void (*visit)(void*, SymbolId), void* data);
template <class Visit>
void for_each_symbol(E e, Visit&& visit) {
  visit_symbols(
      e,
      [](void* function, SymbolId id) {
        (*static_cast<std::remove_reference_t<Visit>*>(function))(id);
      },
      Expressions::untyped(visit));
}

// Whether PyTorch's symbolic numbers have an operation.
enum class InTorch : uint8_t { Symbolic, Opaque };

// A row of operations.def.
struct OperationRow {
  const char* name;
  int operands;  // kAny: two or more
  const char* function;
  InTorch in_torch;
  const char* printed;
};
inline constexpr int kAny = -1;
const OperationRow& row_of(Operation operation);
std::span<const OperationRow> operation_rows();

}  // namespace magneto::shapes
