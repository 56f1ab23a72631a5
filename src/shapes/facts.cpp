// SPDX-License-Identifier: BSD-3-Clause
// Asking facts: ranges, remainders, and whether a condition holds.
#include "shapes/facts.h"

#include <algorithm>
#include <numeric>

namespace magneto::shapes {

namespace {

using Wide = __int128;

Wide greatest_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// `modulus` >= 0; a modulus that is too large says nothing.
Congruence reduced(Wide modulus, Wide residue) {
  if (modulus > (Wide{1} << 62)) return {};
  if (modulus == 0) {
    if (residue < INT64_MIN || residue > INT64_MAX) return {};
    return {0, static_cast<int64_t>(residue)};
  }
  const Wide rest = residue % modulus;
  return {static_cast<int64_t>(modulus),
          static_cast<int64_t>(rest < 0 ? rest + modulus : rest)};
}

}  // namespace

Congruence add(const Congruence& a, const Congruence& b) {
  return reduced(greatest_divisor(a.modulus, b.modulus),
                 Wide{a.residue} + b.residue);
}

// (m*i + r) * (n*j + s) is r*s modulo the divisor of m*n, m*s and n*r.
Congruence multiply(const Congruence& a, const Congruence& b) {
  const Wide modulus =
      greatest_divisor(greatest_divisor(Wide{a.modulus} * b.modulus,
                                        Wide{a.modulus} * b.residue),
                       Wide{b.modulus} * a.residue);
  return reduced(modulus, Wide{a.residue} * b.residue);
}

Congruence intersect(const Congruence& a, const Congruence& b) {
  if (a.modulus == 0 || b.modulus == 1) return a;
  if (b.modulus == 0 || a.modulus == 1) return b;
  const int64_t common = std::gcd(a.modulus, b.modulus);
  const Wide joint = Wide{a.modulus} / common * b.modulus;
  if ((Wide{a.residue} - b.residue) % common != 0) return a;
  if (joint > INT32_MAX) return a.modulus >= b.modulus ? a : b;
  int64_t value = a.residue;
  while (value % b.modulus != b.residue) {
    value += a.modulus;
    if (value >= joint) return a;
  }
  return {static_cast<int64_t>(joint), value};
}

Affine Environment::Facts::affine(E e) {
  Sum sum = table.sum_of(e);
  const int64_t offset = sum.constant;
  if (sum.terms.empty()) return {nullptr, 1, offset};
  int64_t scale = common_divisor(sum);
  if (sum.terms[0].coefficient < 0) scale = -scale;
  sum.constant = 0;
  for (Term& term : sum.terms) {
    if (scale == -1 && term.coefficient == INT64_MIN) return {e, 1, 0};
    term.coefficient /= scale;
  }
  return {table.make_sum(sum), scale, offset};
}

Range Environment::Facts::natural_range(E e) {
  if (e->is_constant()) {
    return e->type == Type::Float ? Range{}
                                  : Range::exactly(e->value.integer());
  }
  if (e->is_symbol()) {
    return e->type == Type::Boolean ? Range{0, 1} : Range{};
  }
  if (e->type == Type::Integer && table.is_linear(e)) {
    return range(table.sum_of(e));
  }
  SmallVector<Range, 8> operands;
  const bool is_product = e->operation == Operation::Multiply;
  for (size_t i = 0; i < e->operands.size(); ++i) {
    const E operand = e->operands[i];
    operands.push_back(range(operand));
    // An even power is not negative.
    if (is_product && i > 0 && e->operands[i - 1] == operand &&
        e->type == Type::Integer) {
      const Range both[] = {range(operand), Range::exactly(2)};
      operands.resize_down(operands.size() - 2);
      operands.push_back(range_of(Operation::Power, e->type, both));
      // A third of its kind begins anew.
      if (++i < e->operands.size()) operands.push_back(range(e->operands[i]));
    }
  }
  if (operands.size() == 1 && is_product) return operands[0];
  return range_of(e->operation, e->type, operands);
}

Range Environment::Facts::range(E e) {
  if (const Derived& known = derived(e); known.range_in == version_) {
    return known.range;
  }
  Range result = natural_range(e);
  if (e->type == Type::Boolean && fact(e).truth != 0) {
    result = Range::exactly(fact(e).truth > 0);
  }
  if (e->type == Type::Integer && e->has_symbols) {
    // Facts that contradict each other tell nothing.
    const Range both = intersect(result, fact(e).bound);
    if (!both.is_empty()) result = both;
  }
  Derived& entry = derived(e);
  entry.range_in = version_;
  entry.range = result;
  return result;
}

Range Environment::Facts::range(const Sum& sum) {
  Wide least = sum.constant, most = sum.constant;
  bool has_least = true, has_most = true;
  for (const Term& term : sum.terms) {
    const Range values = range(term.monomial);
    const bool rises = term.coefficient > 0;
    has_least &=
        rises ? values.least != Range::kLeast : values.most != Range::kMost;
    has_most &=
        rises ? values.most != Range::kMost : values.least != Range::kLeast;
    least += Wide{term.coefficient} * (rises ? values.least : values.most);
    most += Wide{term.coefficient} * (rises ? values.most : values.least);
  }
  const auto cut = [](Wide value) {
    return static_cast<int64_t>(
        std::clamp<Wide>(value, Range::kLeast, Range::kMost));
  };
  Range result = {has_least ? cut(least) : Range::kLeast,
                  has_most ? cut(most) : Range::kMost};
  if (sum.terms.size() < 2) return result;
  const auto narrow = [&](const Range& part, const Range& by) {
    const Range parts[] = {part, by};
    const Range whole[] = {range_of(Operation::Multiply, Type::Integer, parts),
                           Range::exactly(sum.constant)};
    const Range both =
        intersect(result, range_of(Operation::Add, Type::Integer, whole));
    if (!both.is_empty()) result = both;
  };
  // a * b - b is (a - 1) * b.
  for (E factor : factors_of(sum.terms[0].monomial)) {
    const auto others = table.divide_terms(sum, factor);
    if (!others) continue;
    narrow(range(factor), range(*others));
    break;
  }
  if (!has_sum_facts) return result;

  // Facts are about the sum without a constant, and with coprime coefficients.
  int64_t scale = common_divisor(sum);
  if (sum.terms[0].coefficient < 0) scale = -scale;
  const E base = table.find_sum(sum, scale);
  if (!base || fact(base).bound == Range{}) return result;
  narrow(Range::exactly(scale), fact(base).bound);
  return result;
}

Congruence Environment::Facts::natural_congruence(E e) {
  switch (e->operation) {
    case Operation::Constant:
      return {0, e->value.integer()};
    case Operation::Add:
    case Operation::Multiply: {
      Congruence result = congruence(e->operands[0]);
      for (E operand : e->operands.subspan(1)) {
        result = e->operation == Operation::Add
                     ? add(result, congruence(operand))
                     : multiply(result, congruence(operand));
      }
      return result;
    }
    case Operation::FloorDivide:
    case Operation::Modulo: {
      const E divisor = e->operands[1];
      if (!divisor->is_constant() || divisor->value.integer() <= 0) return {};
      const int64_t k = divisor->value.integer();
      const Congruence inner = congruence(e->operands[0]);
      if (e->operation == Operation::Modulo) {
        return reduced(greatest_divisor(inner.modulus, k), inner.residue);
      }
      // (k*m*i + r) // k == m*i + r // k
      if (!inner.settles(k)) return {};
      return reduced(inner.modulus / k, floor_quotient(inner.residue, k));
    }
    default:
      return {};
  }
}

Congruence Environment::Facts::congruence(E e) {
  if (const Derived& known = derived(e); known.congruence_in == version_) {
    return known.congruence;
  }
  Congruence result = natural_congruence(e);
  if (e->has_symbols) {
    const Affine form = affine(e);
    const Congruence base =
        form.base == e ? fact(e).congruence : congruence(form.base);
    result = intersect(result,
                       add(multiply({0, form.scale}, base), {0, form.offset}));
  }
  Derived& entry = derived(e);
  entry.congruence_in = version_;
  entry.congruence = result;
  return result;
}

std::optional<bool> Environment::Facts::known(E condition) {
  if (condition->is_constant()) return condition->value.truth();
  int8_t answer = 0;
  if (const Derived& entry = derived(condition); entry.known_in == version_) {
    answer = entry.known;
  } else {
    const std::optional<bool> computed = compute_known(simplify(condition));
    answer = computed ? (*computed ? 1 : -1) : 0;
    Derived& kept = derived(condition);
    kept.known_in = version_;
    kept.known = answer;
  }
  if (answer == 0) return std::nullopt;
  return answer > 0;
}

std::optional<bool> Environment::Facts::compute_known(E condition) {
  if (condition->is_constant()) return condition->value.truth();
  if (const int8_t truth = fact(condition).truth) return truth > 0;
  switch (condition->operation) {
    case Operation::Equal:
    case Operation::LessEqual: {
      const E sum = condition->operands[0];
      if (sum->type != Type::Integer) return std::nullopt;
      const Range values = range(sum);
      if (condition->operation == Operation::LessEqual) {
        if (values.most <= 0) return true;
        if (values.least > 0) return false;
        return infer_sign(table.sum_of(sum));
      }
      if (!values.contains(0)) return false;
      if (values == Range::exactly(0)) return true;
      if (congruence(sum).residue != 0) return false;
      return infer_zero(table.sum_of(sum));
    }
    case Operation::Not: {
      const auto inner = known(condition->operands[0]);
      if (!inner) return std::nullopt;
      return !*inner;
    }
    case Operation::And:
    case Operation::Or: {
      const bool absorbing = condition->operation == Operation::Or;
      bool all = true;
      for (E operand : condition->operands) {
        const auto part = known(operand);
        if (part == absorbing) return absorbing;
        all &= part.has_value();
      }
      if (all) return !absorbing;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace magneto::shapes
