// SPDX-License-Identifier: BSD-3-Clause
// Canonical sums and products of ints.
#include "shapes/sum.h"

#include <algorithm>
#include <numeric>

#include "shapes/table.h"

namespace magneto::shapes {

namespace {

// A product of sums stays as it is if it would have more terms than this.
constexpr size_t kMostTerms = 64;

uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value)
                   : static_cast<uint64_t>(value);
}

}  // namespace

bool Sum::add(const Sum& other, int64_t factor) {
  int64_t scaled = 0;
  if (__builtin_mul_overflow(other.constant, factor, &scaled) ||
      !add_constant(scaled)) {
    return false;
  }
  size_t at = 0;
  for (const Term& term : other.terms) {
    if (__builtin_mul_overflow(term.coefficient, factor, &scaled)) return false;
    while (at < terms.size() && terms[at].monomial->id < term.monomial->id) {
      ++at;
    }
    if (at < terms.size() && terms[at].monomial == term.monomial) {
      int64_t& own = terms[at].coefficient;
      if (__builtin_add_overflow(own, scaled, &own)) return false;
      if (own == 0) terms.erase(at);
    } else if (scaled != 0) {
      terms.insert(at, {term.monomial, scaled});
    }
  }
  return true;
}

bool Sum::normalize() {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return a.monomial->id < b.monomial->id;
  });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term sum = terms[i];
    for (++i; i < terms.size() && terms[i].monomial == sum.monomial; ++i) {
      if (__builtin_add_overflow(sum.coefficient, terms[i].coefficient,
                                 &sum.coefficient)) {
        return false;
      }
    }
    if (sum.coefficient != 0) terms[kept++] = sum;
  }
  terms.resize_down(kept);
  return true;
}

int64_t common_divisor(const Sum& sum) {
  uint64_t divisor = 0;
  for (const Term& term : sum.terms) {
    divisor = std::gcd(divisor, magnitude(term.coefficient));
  }
  return divisor == 0 || divisor > INT64_MAX ? 1
                                             : static_cast<int64_t>(divisor);
}

std::span<const E> factors_of(const E& monomial) {
  if (monomial->operation == Operation::Multiply) return monomial->operands;
  return {&monomial, 1};
}

Sum Expressions::Table::sum_of(E e) {
  Sum sum;
  const auto add = [&](E part) {
    if (part->is_constant()) {
      sum.constant = part->value.integer();
      return;
    }
    const E monomial = monomials[part->id];
    sum.terms.push_back(
        {monomial, monomial == part ? 1 : part->operands[0]->value.integer()});
  };
  if (e->operation == Operation::Add) {
    for (E part : e->operands) add(part);
  } else {
    add(e);
  }
  return sum;
}

E Expressions::Table::make_term(int64_t coefficient, E monomial) {
  if (coefficient == 1) return monomial;
  List operands;
  operands.push_back(integer(coefficient));
  operands.append(factors_of(monomial));
  const E term = intern(Operation::Multiply, Type::Integer, operands);
  monomials[term->id] = monomial;
  return term;
}

E Expressions::Table::make_sum(const Sum& sum) {
  List operands;
  for (const Term& term : sum.terms) {
    operands.push_back(make_term(term.coefficient, term.monomial));
  }
  if (sum.constant != 0 || operands.empty()) {
    operands.push_back(integer(sum.constant));
  }
  if (operands.size() == 1) return operands[0];
  return intern(Operation::Add, Type::Integer, operands);
}

E Expressions::Table::find_sum(const Sum& sum, int64_t divisor) const {
  List operands;
  for (const Term& term : sum.terms) {
    E found = term.monomial;
    if (term.coefficient == INT64_MIN) return nullptr;
    if (const int64_t coefficient = term.coefficient / divisor;
        coefficient != 1) {
      List factors;
      factors.push_back(look_up(Operation::Constant, Type::Integer, {},
                                Number::of(coefficient), {})
                            .found);
      if (!factors[0]) return nullptr;
      factors.append(factors_of(term.monomial));
      found = find(Operation::Multiply, factors);
    }
    if (!found) return nullptr;
    operands.push_back(found);
  }
  return find(Operation::Add, operands);
}

E Expressions::Table::product(std::span<const E> factors) {
  if (factors.size() == 1) return factors[0];
  List sorted;
  sorted.append(factors);
  std::sort(sorted.begin(), sorted.end(),
            [](E a, E b) { return a->id < b->id; });
  return intern(Operation::Multiply, Type::Integer, sorted);
}

E Expressions::Table::product(E a, E b) {
  List factors;
  factors.append(factors_of(a));
  factors.append(factors_of(b));
  return product(factors);
}

bool Expressions::Table::multiply_sums(const Sum& a, const Sum& b,
                                       Sum& result) {
  if (__builtin_mul_overflow(a.constant, b.constant, &result.constant)) {
    return false;
  }
  result.terms.clear();
  const auto push = [&](E monomial, int64_t x, int64_t y) {
    int64_t coefficient = 0;
    if (__builtin_mul_overflow(x, y, &coefficient)) return false;
    if (coefficient != 0) result.terms.push_back({monomial, coefficient});
    return true;
  };
  for (const Term& x : a.terms) {
    if (!push(x.monomial, x.coefficient, b.constant)) return false;
    for (const Term& y : b.terms) {
      if (!push(product(x.monomial, y.monomial), x.coefficient,
                y.coefficient)) {
        return false;
      }
    }
  }
  for (const Term& y : b.terms) {
    if (!push(y.monomial, y.coefficient, a.constant)) return false;
  }
  return result.normalize();
}

std::optional<Sum> Expressions::Table::divide_terms(const Sum& sum, E factor) {
  for (const Term& term : sum.terms) {
    const auto factors = factors_of(term.monomial);
    if (std::find(factors.begin(), factors.end(), factor) == factors.end()) {
      return std::nullopt;
    }
  }
  Sum result;
  for (const Term& term : sum.terms) {
    List others;
    others.append(factors_of(term.monomial));
    others.erase(static_cast<size_t>(
        std::find(others.begin(), others.end(), factor) - others.begin()));
    if (others.empty()) {
      result.constant = term.coefficient;
    } else {
      result.terms.push_back({product(others), term.coefficient});
    }
  }
  if (!result.normalize()) return std::nullopt;
  return result;
}

E Expressions::Table::add_ints(std::span<const E> operands) {
  Sum sum = sum_of(operands[0]);
  for (E operand : operands.subspan(1)) {
    if (!sum.add(sum_of(operand))) return nullptr;
  }
  return make_sum(sum);
}

E Expressions::Table::multiply_ints(std::span<const E> operands) {
  Sum result = sum_of(operands[0]);
  E whole = operands[0];
  for (E operand : operands.subspan(1)) {
    const Sum right = sum_of(operand);
    Sum product_sum;
    const size_t left_size = result.terms.size() + (result.constant != 0);
    const size_t right_size = right.terms.size() + (right.constant != 0);
    if (result.terms.empty() || right.terms.empty() ||
        left_size * right_size <= kMostTerms) {
      if (!multiply_sums(result, right, product_sum)) return nullptr;
    } else {
      // Too long: the sums themselves are the factors.
      const auto as_term = [](const Sum& sum, E e) {
        if (sum.terms.size() == 1 && sum.constant == 0) return sum.terms[0];
        return Term{e, 1};
      };
      const Term x = as_term(result, whole);
      const Term y = as_term(right, operand);
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &coefficient)) {
        return nullptr;
      }
      product_sum.terms.push_back(
          {product(x.monomial, y.monomial), coefficient});
    }
    result = product_sum;
    whole = make_sum(result);
  }
  return whole;
}

E Expressions::Table::negate(E a) {
  Sum result;
  if (!result.add(sum_of(a), -1)) return nullptr;
  return make_sum(result);
}

}  // namespace magneto::shapes
