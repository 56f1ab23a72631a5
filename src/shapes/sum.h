// SPDX-License-Identifier: BSD-3-Clause
// An int expression taken apart: a constant plus terms, each a coefficient
// times a monomial. A monomial is an atom (a symbol, a floor division, ...) or
// a Multiply of atoms, without a constant.
#pragma once

#include <cstdint>

#include "shapes/expression.h"
#include "shapes/small_vector.h"

namespace magneto::shapes {

struct Term {
  E monomial;
  int64_t coefficient;
};

struct Sum {
  SmallVector<Term, 6> terms;  // by the monomial's id; coefficients aren't 0
  int64_t constant = 0;

  // this += factor * other. False if 64 bits don't hold it.
  [[nodiscard]] bool add(const Sum& other, int64_t factor = 1);
  [[nodiscard]] bool add_constant(int64_t value) {
    return !__builtin_add_overflow(constant, value, &constant);
  }
  // Sorts the terms and puts like ones together.
  [[nodiscard]] bool normalize();
};

// The greatest common divisor of the coefficients; 1 if it isn't an int64_t.
int64_t common_divisor(const Sum& sum);
// The atoms of a monomial.
std::span<const E> factors_of(const E& monomial);

// Python's // and % by a divisor that is not 0 or -1.
constexpr int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}
constexpr int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t remainder = a % b;
  return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b
                                                        : remainder;
}

}  // namespace magneto::shapes
