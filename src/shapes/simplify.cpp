// SPDX-License-Identifier: BSD-3-Clause
// Simplifying by facts: symbols are replaced by what equals them, then rules
// that need ranges or remainders are applied.
#include "shapes/facts.h"

namespace magneto::shapes {

E Environment::Facts::simplify(E e) {
  if (!e->has_symbols) return e;
  if (const Derived& known = derived(e); known.simplified_in == version_) {
    return known.simplified;
  }
  E result = e;
  if (e->is_symbol()) {
    const Fact own = fact(e);
    if (own.replacement) {
      result = simplify(own.replacement);
    } else if (e->type == Type::Boolean && own.truth != 0) {
      result = table.boolean(own.truth > 0);
    }
  } else {
    Expressions::Table::List operands;
    bool changed = false;
    for (E operand : e->operands) {
      operands.push_back(simplify(operand));
      changed |= operands[operands.size() - 1] != operand;
    }
    if (changed) result = table.make(e->operation, operands);
    if (result) result = apply_rules(result);
    if (!result) result = e;
  }
  Derived& entry = derived(e);
  entry.simplified_in = version_;
  entry.simplified = result;
  return result;
}

// Null if 64 bits don't hold the result.
E Environment::Facts::apply_rules(E e) {
  if (!e->has_symbols) return e;
  if (e->operation == Operation::Equal ||
      e->operation == Operation::LessEqual) {
    return divide_out(e);
  }
  if (e->type != Type::Integer) return e;
  const Range values = range(e);
  if (values.least == values.most && values.is_bounded()) {
    return table.integer(values.least);
  }
  switch (e->operation) {
    case Operation::Modulo: {
      const E divisor = e->operands[1];
      const Range dividend = range(e->operands[0]);
      if (dividend.least >= 0 && dividend.most < range(divisor).least) {
        return e->operands[0];
      }
      if (divisor->is_constant() && divisor->value.integer() > 0) {
        const int64_t k = divisor->value.integer();
        const Congruence form = congruence(e->operands[0]);
        if (form.settles(k)) {
          return table.integer(floor_remainder(form.residue, k));
        }
      }
      return e;
    }
    case Operation::Minimum:
    case Operation::Maximum: {
      const bool least = e->operation == Operation::Minimum;
      Expressions::Table::List kept(e->operands);
      for (size_t i = 0; i < kept.size() && kept.size() > 1;) {
        bool dominated = false;
        for (size_t j = 0; j < kept.size() && !dominated; ++j) {
          if (j == i) continue;
          const E smaller = least ? kept[j] : kept[i];
          const E greater = least ? kept[i] : kept[j];
          const E holds = table.binary(Operation::LessEqual, smaller, greater);
          dominated = holds && compute_known(holds) == true;
        }
        if (dominated) {
          kept.erase(i);
        } else {
          ++i;
        }
      }
      if (kept.size() == e->operands.size()) return e;
      return kept.size() == 1 ? kept[0] : table.make(e->operation, kept);
    }
    case Operation::Absolute:
      if (range(e->operands[0]).least >= 0) return e->operands[0];
      if (range(e->operands[0]).most <= 0) return table.negate(e->operands[0]);
      return e;
    case Operation::Truncate:
    case Operation::Floor:
    case Operation::Ceiling:
    case Operation::Round: {
      // An int that is exact as a float comes back.
      const E inner = e->operands[0];
      constexpr int64_t kMostExact = int64_t{1} << 53;
      if (inner->operation != Operation::ToFloat) return e;
      const Range given = range(inner->operands[0]);
      if (given.least < -kMostExact || given.most > kMostExact) return e;
      return inner->operands[0];
    }
    case Operation::Add:
    case Operation::Multiply:
      return cancel_divisions(e);
    default:
      return e;
  }
}

// s1 * s2 - s2 == 0 is s1 - 1 == 0 where s2 isn't 0. Factors that all terms
// share are taken out if they are known to be positive.
E Environment::Facts::divide_out(E condition) {
  if (condition->operands[0]->type != Type::Integer) return condition;
  Sum sum = table.sum_of(condition->operands[0]);
  if (sum.constant != 0 || sum.terms.empty()) return condition;
  const E first = sum.terms[0].monomial;
  E result = condition;
  for (E factor : factors_of(first)) {
    if (range(factor).least < 1) continue;
    const auto smaller = table.divide_terms(sum, factor);
    if (!smaller) continue;
    const E made = table.condition(condition->operation, *smaller);
    if (!made) return result;
    result = made;
    if (result->operation != condition->operation) return result;
    sum = table.sum_of(result->operands[0]);
    if (sum.constant != 0 || sum.terms.empty()) return result;
  }
  return result;
}

bool Environment::Facts::is_multiple(E a, E b) {
  const E rest = table.binary(Operation::Modulo, a, b);
  return rest && (rest->is_constant() ? rest->value.integer() == 0
                                      : range(rest) == Range::exactly(0) ||
                                            simplify(rest) == table.integer(0));
}

// (x // k) * k is x where k divides x.
E Environment::Facts::cancel_divisions(E e) {
  const Sum sum = table.sum_of(e);
  for (size_t t = 0; t < sum.terms.size(); ++t) {
    const Term term = sum.terms[t];
    const std::span<const E> factors = factors_of(term.monomial);
    for (size_t i = 0; i < factors.size(); ++i) {
      if (factors[i]->operation != Operation::FloorDivide) continue;
      const E dividend = factors[i]->operands[0];
      const E divisor = factors[i]->operands[1];
      Expressions::Table::List others;
      int64_t coefficient = term.coefficient;
      bool found = false;
      for (size_t j = 0; j < factors.size(); ++j) {
        if (j == i) continue;
        if (!found && factors[j] == divisor) {
          found = true;
        } else {
          others.push_back(factors[j]);
        }
      }
      if (divisor->is_constant()) {
        const int64_t k = divisor->value.integer();
        if (k <= 0 || coefficient % k != 0) continue;
        coefficient /= k;
      } else if (!found) {
        continue;
      }
      if (!is_multiple(dividend, divisor)) continue;
      others.push_back(dividend);
      others.push_back(table.integer(coefficient));
      const E replaced = table.make(Operation::Multiply, others);
      Sum rest = sum;
      rest.terms.erase(t);
      const E result = table.add(table.make_sum(rest), replaced);
      return result ? cancel_divisions(result) : nullptr;
    }
  }
  return e;
}

}  // namespace magneto::shapes
