// SPDX-License-Identifier: BSD-3-Clause
// Floor division and remainder of ints. What a divisor divides exactly is taken
// out, which holds for floors of negative numbers, too: with k | m,
// (m + r) // k == m / k + r // k and (m + r) % k == r % k.
#include <algorithm>
#include <numeric>
#include <optional>

#include "shapes/table.h"

namespace magneto::shapes {

namespace {

using List = SmallVector<E, 8>;

// The factors of `monomial` without those of `divisor`; none if some lack.
std::optional<List> without(const E& monomial, std::span<const E> divisor) {
  List left;
  size_t matched = 0;
  for (E factor : factors_of(monomial)) {
    if (matched < divisor.size() && divisor[matched] == factor) {
      ++matched;
    } else {
      left.push_back(factor);
    }
  }
  if (matched < divisor.size()) return std::nullopt;
  return left;
}

// The order of monomials for long division: by degree, then by factors.
bool is_greater(const Term& a, const Term& b) {
  const auto x = factors_of(a.monomial), y = factors_of(b.monomial);
  if (x.size() != y.size()) return x.size() > y.size();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != y[i]) return x[i]->id < y[i]->id;
  }
  return false;
}

Term leading(const Sum& sum) {
  Term result = sum.terms[0];
  for (const Term& term : sum.terms) {
    if (is_greater(term, result)) result = term;
  }
  return result;
}

// A sum, parted into what a divisor divides (already divided) and the rest.
struct Parts {
  Sum quotient;
  Sum rest;
};

Parts part(const Sum& sum, int64_t divisor) {
  Parts parts;
  for (const Term& term : sum.terms) {
    if (term.coefficient % divisor == 0) {
      parts.quotient.terms.push_back(
          {term.monomial, term.coefficient / divisor});
    } else {
      parts.rest.terms.push_back(term);
    }
  }
  parts.quotient.constant = floor_quotient(sum.constant, divisor);
  parts.rest.constant = floor_remainder(sum.constant, divisor);
  return parts;
}

// The same for a divisor of one term. `product` makes a monomial. False if 64
// bits don't hold it.
template <class Product>
bool part(const Sum& sum, const Term& divisor, Product product, Parts& parts) {
  for (const Term& term : sum.terms) {
    const bool overflows =
        divisor.coefficient == -1 && term.coefficient == INT64_MIN;
    const auto left = without(term.monomial, factors_of(divisor.monomial));
    if (!left || overflows || term.coefficient % divisor.coefficient != 0) {
      parts.rest.terms.push_back(term);
      continue;
    }
    const int64_t quotient = term.coefficient / divisor.coefficient;
    if (left->empty()) {
      parts.quotient.constant = quotient;
    } else {
      parts.quotient.terms.push_back({product(*left), quotient});
    }
  }
  parts.rest.constant = sum.constant;
  return parts.quotient.normalize();
}

}  // namespace

// Long division of polynomials, for divisors of more than one term: the
// quotient if there is no remainder.
std::optional<Sum> Expressions::Table::divide_exactly(Sum sum,
                                                      const Sum& divisor) {
  constexpr int kMostSteps = 32;
  Sum quotient;
  const Term by = leading(divisor);
  for (int step = 0; step < kMostSteps; ++step) {
    if (sum.terms.empty()) {
      if (sum.constant != 0 || !quotient.normalize()) return std::nullopt;
      return quotient;
    }
    const Term first = leading(sum);
    const auto left = without(first.monomial, factors_of(by.monomial));
    if (!left || first.coefficient == INT64_MIN ||
        first.coefficient % by.coefficient != 0) {
      return std::nullopt;
    }
    Sum part;
    const int64_t coefficient = first.coefficient / by.coefficient;
    if (left->empty()) {
      part.constant = coefficient;
      if (!quotient.add_constant(coefficient)) return std::nullopt;
    } else {
      part.terms.push_back({product(*left), coefficient});
      quotient.terms.push_back(part.terms[0]);
    }
    Sum taken;
    if (!multiply_sums(part, divisor, taken) || !sum.add(taken, -1)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

E Expressions::Table::floor_divide(E a, E b) {
  const auto raw = [&](E x, E y) {
    const E both[] = {x, y};
    return intern(Operation::FloorDivide, Type::Integer, both);
  };
  if (a->is_constant() && a->value.integer() == 0) return a;
  if (a == b) return integer(1);
  Sum sum = sum_of(a);
  if (b->is_constant()) {
    int64_t divisor = b->value.integer();
    if (divisor == 0) return nullptr;
    if (divisor == -1) return negate(a);
    if (divisor < 0) return raw(a, b);
    Parts parts = part(sum, divisor);
    Sum& rest = parts.rest;
    if (rest.terms.empty()) return make_sum(parts.quotient);
    const int64_t common = std::gcd(common_divisor(rest), divisor);
    divisor /= common;
    for (Term& term : rest.terms) term.coefficient /= common;
    rest.constant /= common;  // it isn't negative
    E inner = nullptr;
    const Term& only = rest.terms[0];
    if (rest.terms.size() == 1 && only.coefficient == 1 &&
        only.monomial->operation == Operation::FloorDivide &&
        only.monomial->operands[1]->is_constant()) {
      // (x // n + c) // k == (x + c * n) // (n * k)
      const int64_t n = only.monomial->operands[1]->value.integer();
      int64_t product = 0, offset = 0;
      Sum dividend = sum_of(only.monomial->operands[0]);
      if (n > 0 && !__builtin_mul_overflow(n, divisor, &product) &&
          !__builtin_mul_overflow(n, rest.constant, &offset) &&
          dividend.add_constant(offset)) {
        inner = floor_divide(make_sum(dividend), integer(product));
      }
    }
    if (!inner) inner = raw(make_sum(rest), integer(divisor));
    return add(make_sum(parts.quotient), inner);
  }

  const Sum divisor = sum_of(b);
  if (divisor.terms.size() != 1 || divisor.constant != 0) {
    const auto quotient = divide_exactly(sum, divisor);
    return quotient ? make_sum(*quotient) : raw(a, b);
  }
  Parts parts;
  const auto make_product = [&](const List& list) { return product(list); };
  if (!part(sum, divisor.terms[0], make_product, parts)) return raw(a, b);
  Sum& rest = parts.rest;
  if (rest.terms.empty() && rest.constant == 0) {
    return make_sum(parts.quotient);
  }
  // Factors that the rest and the divisor share are cancelled.
  Term shrunk = divisor.terms[0];
  if (rest.constant == 0) {
    const int64_t signless =
        shrunk.coefficient == INT64_MIN ? 1 : std::abs(shrunk.coefficient);
    const int64_t common = std::gcd(common_divisor(rest), signless);
    shrunk.coefficient /= common;
    for (Term& term : rest.terms) term.coefficient /= common;
    List kept;
    for (E factor : factors_of(shrunk.monomial)) {
      const std::span<const E> one(&factor, 1);
      const bool shared = std::all_of(
          rest.terms.begin(), rest.terms.end(), [&](const Term& term) {
            const auto left = without(term.monomial, one);
            return left && !left->empty();
          });
      if (!shared) {
        kept.push_back(factor);
        continue;
      }
      for (Term& term : rest.terms) {
        if (const auto left = without(term.monomial, one))
          term.monomial = product(*left);
      }
    }
    const bool changed = kept.size() < factors_of(shrunk.monomial).size();
    if (changed && !rest.normalize()) return raw(a, b);
    if (changed || common != 1) {
      const E smaller = kept.empty()
                            ? integer(shrunk.coefficient)
                            : make_term(shrunk.coefficient, product(kept));
      return add(make_sum(parts.quotient),
                 binary(Operation::FloorDivide, make_sum(rest), smaller));
    }
  }
  return add(make_sum(parts.quotient), raw(make_sum(rest), b));
}

E Expressions::Table::modulo(E a, E b) {
  const auto raw = [&](E x, E y) {
    const E both[] = {x, y};
    return intern(Operation::Modulo, Type::Integer, both);
  };
  if (a->is_constant() && a->value.integer() == 0) return a;
  if (a == b) return integer(0);
  Sum sum = sum_of(a);
  if (b->is_constant()) {
    int64_t divisor = b->value.integer();
    if (divisor == 0) return nullptr;
    if (divisor == 1 || divisor == -1) return integer(0);
    if (divisor < 0) return raw(a, b);
    Sum rest;
    for (const Term& term : sum.terms) {
      const int64_t coefficient = term.coefficient % divisor;
      if (coefficient == 0) continue;
      const E inner = term.monomial;
      if (inner->operation == Operation::Modulo &&
          inner->operands[1]->is_constant()) {
        // (x % n) == x, modulo each divisor of n
        const int64_t n = inner->operands[1]->value.integer();
        if (n % divisor == 0) {
          if (!rest.add(sum_of(inner->operands[0]), coefficient)) {
            return raw(a, b);
          }
          continue;
        }
      }
      Sum one;
      one.terms.push_back({inner, coefficient});
      if (!rest.add(one)) return raw(a, b);
    }
    if (!rest.add_constant(floor_remainder(sum.constant, divisor))) {
      return raw(a, b);
    }
    for (size_t i = 0; i < rest.terms.size();) {
      rest.terms[i].coefficient %= divisor;
      if (rest.terms[i].coefficient == 0) {
        rest.terms.erase(i);
      } else {
        ++i;
      }
    }
    rest.constant = floor_remainder(rest.constant, divisor);
    if (rest.terms.empty()) return integer(rest.constant);
    // (g * m + c) % (g * k) == g * ((m + c // g) % k) + c % g
    const int64_t common = std::gcd(common_divisor(rest), divisor);
    const int64_t outside = rest.constant % common;
    for (Term& term : rest.terms) term.coefficient /= common;
    rest.constant /= common;
    const E inner = raw(make_sum(rest), integer(divisor / common));
    if (common == 1) return inner;
    Sum result;
    result.terms.push_back({inner, common});
    result.constant = outside;
    return make_sum(result);
  }

  const Sum divisor = sum_of(b);
  if (divisor.terms.size() != 1 || divisor.constant != 0) {
    return divide_exactly(sum, divisor) ? integer(0) : raw(a, b);
  }
  Parts parts;
  const auto make_product = [&](const List& list) { return product(list); };
  if (!part(sum, divisor.terms[0], make_product, parts)) return raw(a, b);
  if (parts.rest.terms.empty() && parts.rest.constant == 0) return integer(0);
  return raw(make_sum(parts.rest), b);
}

}  // namespace magneto::shapes
