// SPDX-License-Identifier: BSD-3-Clause
// Comparisons and logic. A comparison of ints is `sum <= 0` or `sum == 0`, its
// coefficients coprime; Not stands only before what has no opposite.
#include <algorithm>
#include <cmath>

#include "shapes/table.h"
#include "support/check.h"

namespace magneto::shapes {

// float(a) <operation> real, or the other way round if `a` isn't on the left.
// Each float between the ints near it: rounding can't take an int across.
E Expressions::Table::compare_with_real(Operation operation, E a, double real,
                                        bool is_left) {
  const E floor = integer(static_cast<int64_t>(std::floor(real)));
  const E ceiling = integer(static_cast<int64_t>(std::ceil(real)));
  switch (operation) {
    case Operation::Equal:
      return floor == ceiling ? compare(operation, a, floor) : boolean(false);
    case Operation::Less:
      return is_left ? compare(operation, a, ceiling)
                     : compare(operation, floor, a);
    default:
      return is_left ? compare(operation, a, floor)
                     : compare(operation, ceiling, a);
  }
}

E Expressions::Table::compare(Operation operation, E a, E b) {
  if (a->type == Type::Integer) {
    Sum sum = sum_of(a);
    if (!sum.add(sum_of(b), -1)) return nullptr;
    if (operation == Operation::Less) {
      if (!sum.add_constant(1)) return nullptr;
      operation = Operation::LessEqual;
    }
    return condition(operation, std::move(sum));
  }
  MG_CHECK(a->type == Type::Float, "ints or floats are compared");
  for (const bool left : {true, false}) {
    const E number = left ? b : a;
    if ((left ? a : b)->operation == Operation::ToFloat &&
        number->is_constant() && std::fabs(number->value.real()) < 0x1p52) {
      return compare_with_real(operation, (left ? a : b)->operands[0],
                               number->value.real(), left);
    }
  }
  if (operation == Operation::Equal && b->id < a->id) std::swap(a, b);
  const E both[] = {a, b};
  return intern(operation, Type::Boolean, both);
}

// x - k * (x // k) is x % k, which says more: x % k == 0 is a fact of its own.
// Done where it leaves fewer terms.
void Expressions::Table::restore_remainders(Sum& sum) {
  if (sum.terms.size() < 2) return;
  for (size_t t = 0; t < sum.terms.size(); ++t) {
    const Term term = sum.terms[t];
    for (E factor : factors_of(term.monomial)) {
      if (factor->operation != Operation::FloorDivide) continue;
      const E divisor = factor->operands[1];
      // The multiple of the dividend that the term nearly is.
      int64_t multiple = term.coefficient;
      if (divisor->is_constant()) {
        const int64_t k = divisor->value.integer();
        if (k <= 0 || factor != term.monomial || multiple % k != 0) continue;
        multiple /= k;
      } else if (term.monomial != product(divisor, factor)) {
        continue;
      }
      const E rest = modulo(factor->operands[0], divisor);
      Sum result = sum;
      result.terms.erase(t);
      if (!rest || !result.add(sum_of(factor->operands[0]), multiple) ||
          multiple == INT64_MIN || !result.add(sum_of(rest), -multiple) ||
          result.terms.size() >= sum.terms.size()) {
        continue;
      }
      sum = result;
      return;
    }
  }
}

E Expressions::Table::condition(Operation operation, Sum sum) {
  const bool equal = operation == Operation::Equal;
  if (sum.terms.empty()) {
    return boolean(equal ? sum.constant == 0 : sum.constant <= 0);
  }
  restore_remainders(sum);
  if (sum.terms.empty()) return condition(operation, std::move(sum));
  const int64_t common = common_divisor(sum);
  if (common > 1) {
    const int64_t rest = floor_remainder(sum.constant, common);
    if (equal && rest != 0) return boolean(false);
    for (Term& term : sum.terms) term.coefficient /= common;
    // g * m + c <= 0 where m <= -c / g, so where m + ceil(c / g) <= 0
    sum.constant = floor_quotient(sum.constant, common) + (rest != 0);
  }
  const Term& first = sum.terms[0];
  if (equal && first.coefficient < 0) {
    Sum negated;
    if (!negated.add(sum, -1)) return nullptr;
    sum = negated;
  }
  if (sum.terms.size() == 1 && std::abs(first.coefficient) == 1) {
    const bool upper = first.coefficient == 1;
    const E atom = first.monomial;
    if (atom->operation == Operation::ToInteger) {
      const E of = atom->operands[0];
      // The condition for a false and for a true `of`.
      const auto holds = [&](int64_t value) {
        const __int128 total =
            (upper ? value : -value) + static_cast<__int128>(sum.constant);
        return equal ? total == 0 : total <= 0;
      };
      if (holds(0) == holds(1)) return boolean(holds(0));
      return holds(1) ? of : logical_not(of);
    }
    if (!equal && atom->operation == Operation::FloorDivide &&
        atom->operands[1]->is_constant() &&
        atom->operands[1]->value.integer() > 0) {
      // x // k <= n where x <= k * n + k - 1; x // k >= n where x >= k * n
      const int64_t k = atom->operands[1]->value.integer();
      int64_t offset = 0;
      Sum plain;
      if (!__builtin_mul_overflow(k, sum.constant, &offset) &&
          plain.add(sum_of(atom->operands[0]), upper ? 1 : -1) &&
          plain.add_constant(offset) && (!upper || plain.add_constant(1 - k))) {
        return condition(operation, std::move(plain));
      }
    }
  }
  const E both[] = {make_sum(sum), integer(0)};
  return intern(operation, Type::Boolean, both);
}

E Expressions::Table::logical_not(E a) {
  switch (a->operation) {
    case Operation::Constant:
      return boolean(!a->value.truth());
    case Operation::Not:
      return a->operands[0];
    case Operation::LessEqual:
      if (a->operands[0]->type == Type::Integer) {
        Sum sum;
        // not (s <= 0) is -s + 1 <= 0
        if (sum.add(sum_of(a->operands[0]), -1) && sum.add_constant(1)) {
          return condition(Operation::LessEqual, std::move(sum));
        }
      }
      break;
    case Operation::And:
    case Operation::Or: {
      List negated;
      for (E operand : a->operands) negated.push_back(logical_not(operand));
      return logical(
          a->operation == Operation::And ? Operation::Or : Operation::And,
          negated);
    }
    default:
      break;
  }
  return intern(Operation::Not, Type::Boolean, std::span(&a, 1));
}

E Expressions::Table::logical(Operation operation,
                              std::span<const E> operands) {
  const E neutral = boolean(operation == Operation::And);
  const E absorbing = boolean(operation != Operation::And);
  List flat;
  for (E operand : operands) {
    if (operand == absorbing) return absorbing;
    if (operand->operation == operation) {
      flat.append(operand->operands);
    } else if (operand != neutral) {
      flat.push_back(operand);
    }
  }
  std::sort(flat.begin(), flat.end(), [](E a, E b) { return a->id < b->id; });
  flat.resize_down(static_cast<size_t>(std::unique(flat.begin(), flat.end()) -
                                       flat.begin()));
  if (flat.empty()) return neutral;
  if (flat.size() == 1) return flat[0];
  for (E operand : flat) {
    if (std::find(flat.begin(), flat.end(), logical_not(operand)) !=
        flat.end()) {
      return absorbing;
    }
  }
  return intern(operation, Type::Boolean, flat);
}

}  // namespace magneto::shapes
