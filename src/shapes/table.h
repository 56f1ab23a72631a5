// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Expressions: the table of all expressions, and the
// functions that make canonical forms. These give null where
// Expressions::make() does.
#pragma once

#include <optional>
#include <vector>

#include "shapes/expression.h"
#include "shapes/small_vector.h"
#include "shapes/sum.h"
#include "support/arena.h"

namespace magneto::shapes {

struct Expressions::Table {
  using List = SmallVector<E, 8>;

  Table();

  // ---- table.cpp: hash-consing
  E intern(Operation operation, Type type, std::span<const E> operands,
           Number value = {}, SymbolId symbol = {});
  E find(Operation operation, std::span<const E> operands) const {
    return look_up(operation, Type::Integer, operands, {}, {}).found;
  }
  E integer(int64_t value);
  E boolean(bool value) { return value ? true_ : false_; }
  E constant(Type type, Number value);
  E make(Operation operation, std::span<const E> operands);
  // make() of two operands, remembering the last results.
  E binary(Operation operation, E a, E b);
  // The operation on constants, computed.
  E fold(Operation operation, Type type, std::span<const E> operands);

  // ---- sum.cpp: ints as sums
  Sum sum_of(E e);
  // Whether the expression is more than a monomial.
  bool is_linear(E e) const {
    return e->operation == Operation::Add || monomials[e->id] != e;
  }
  E make_sum(const Sum& sum);
  // sum / divisor without its constant, if that was ever made; else null.
  E find_sum(const Sum& sum, int64_t divisor) const;
  E make_term(int64_t coefficient, E monomial);
  E product(E a, E b);  // of monomials
  E product(std::span<const E> factors);
  // The terms, without the constant, divided by a factor that all share.
  std::optional<Sum> divide_terms(const Sum& sum, E factor);
  bool multiply_sums(const Sum& a, const Sum& b, Sum& result);
  E add_ints(std::span<const E> operands);
  E multiply_ints(std::span<const E> operands);
  E add(E a, E b) { return a && b ? binary(Operation::Add, a, b) : nullptr; }
  E negate(E a);

  // ---- divide.cpp: // and % of ints
  E floor_divide(E a, E b);
  E modulo(E a, E b);
  std::optional<Sum> divide_exactly(Sum sum, const Sum& divisor);

  // ---- arithmetic.cpp: the other operations
  E power(E base, E exponent);
  E extremum(Operation operation, std::span<const E> operands);
  E absolute(E a);
  E bitwise(Operation operation, E a, E b);
  E shift(Operation operation, E a, E b);

  // ---- compare.cpp: comparisons and logic
  E compare(Operation operation, E a, E b);
  E compare_with_real(Operation operation, E a, double real, bool is_left);
  E condition(Operation operation, Sum sum);  // `sum` <= 0 or == 0
  void restore_remainders(Sum& sum);
  E logical_not(E a);
  E logical(Operation operation, std::span<const E> operands);

  Arena arena;
  std::vector<E> all;            // by id
  std::vector<E> monomials;      // by id: a term without its coefficient
  std::vector<uint32_t> slots;   // open addressing; id + 1, 0 if free
  std::vector<uint64_t> hashes;  // by id
  E true_ = nullptr;
  E false_ = nullptr;

 private:
  struct Made {
    Operation operation;
    E a = nullptr, b = nullptr, result = nullptr;
  };
  static constexpr size_t kRemembered = 2048;  // a power of two
  std::vector<Made> made_;

  struct LookupResult {
    E found;  // null: it would be made in this slot
    size_t slot;
    uint64_t hash;
  };
  LookupResult look_up(Operation operation, Type type,
                       std::span<const E> operands, Number value,
                       SymbolId symbol) const;
  E dispatch(Operation operation, Type type, std::span<const E> operands);
  void grow();
};

}  // namespace magneto::shapes
