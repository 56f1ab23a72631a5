// SPDX-License-Identifier: BSD-3-Clause
// Conclusions that ranges alone don't give, tried when they don't settle a
// comparison: minima and maxima by their operands, floor divisions by what they
// lie between, and one fact added to the question.
#include "shapes/facts.h"

namespace magneto::shapes {

namespace {

constexpr int kDeepest = 3;
constexpr int kMostSteps = 64;  // for one question
constexpr size_t kMostFacts = 48;

// `sum` with its term number `at` replaced by coefficient * other.
std::optional<Sum> with(const Sum& sum, size_t at, const Sum& other,
                        int64_t coefficient) {
  Sum result = sum;
  result.terms.erase(at);
  if (!result.add(other, coefficient)) return std::nullopt;
  return result;
}

}  // namespace

std::optional<bool> Environment::Facts::infer_sign(const Sum& sum, int depth) {
  const Range values = range(sum);
  if (values.most <= 0) return true;
  if (values.least > 0) return false;
  if (depth == 0) steps_left_ = kMostSteps;
  if (depth >= kDeepest || --steps_left_ < 0) return std::nullopt;
  if (const auto answer = infer_by_extremum(sum, depth)) return answer;
  if (shows_sign(sum, depth)) return true;
  // Never, if -sum + 1 <= 0.
  Sum opposite;
  if (opposite.add(sum, -1) && opposite.add_constant(1) &&
      shows_sign(opposite, depth)) {
    return false;
  }
  return std::nullopt;
}

// max(a, b) <= c where both are, min(a, b) <= c where one is; so for every
// multiple of an extremum in a sum.
std::optional<bool> Environment::Facts::infer_by_extremum(const Sum& sum,
                                                          int depth) {
  for (size_t t = 0; t < sum.terms.size(); ++t) {
    const auto [atom, coefficient] = sum.terms[t];
    const bool is_least = atom->operation == Operation::Minimum;
    if (!is_least && atom->operation != Operation::Maximum) continue;
    const bool one_suffices = is_least == (coefficient > 0);
    bool all_known = true;
    for (E operand : atom->operands) {
      const auto replaced = with(sum, t, table.sum_of(operand), coefficient);
      const auto part =
          replaced ? infer_sign(*replaced, depth + 1) : std::nullopt;
      if (part == one_suffices) return one_suffices;
      all_known &= part.has_value();
    }
    if (all_known) return !one_suffices;
  }
  return std::nullopt;
}

// Whether `sum` <= 0 can be shown.
bool Environment::Facts::shows_sign(const Sum& sum, int depth) {
  for (size_t t = 0; t < sum.terms.size(); ++t) {
    const auto [atom, coefficient] = sum.terms[t];
    if (atom->operation != Operation::FloorDivide) continue;
    const E divisor = atom->operands[1];
    if (!divisor->is_constant() || divisor->value.integer() <= 1) continue;
    // x - k + 1 <= k * (x // k) <= x, so k times the sum is at most this; of
    // an x with a known remainder it is exactly this.
    const int64_t k = divisor->value.integer();
    Sum dividend = table.sum_of(atom->operands[0]);
    const Congruence form = congruence(atom->operands[0]);
    const int64_t offset = form.settles(k)   ? -floor_remainder(form.residue, k)
                           : coefficient < 0 ? 1 - k
                                             : 0;
    if (!dividend.add_constant(offset)) continue;
    Sum others = sum, scaled;
    others.terms.erase(t);
    if (!scaled.add(others, k) || !scaled.add(dividend, coefficient)) continue;
    if (infer_sign(scaled, depth + 1) == true) return true;
  }
  return shows_sign_by_facts(sum);
}

// With a fact f <= 0 that shares a term: the sum is n * f plus a rest, so it is
// at most 0 if the rest is. Of an equality, n may be negative.
bool Environment::Facts::shows_sign_by_facts(const Sum& sum) {
  const size_t first =
      asserted.size() > kMostFacts ? asserted.size() - kMostFacts : 0;
  for (size_t i = asserted.size(); i-- > first;) {
    const E fact = asserted[i];
    const bool is_equality = fact->operation == Operation::Equal;
    if ((!is_equality && fact->operation != Operation::LessEqual) ||
        fact->operands[0]->type != Type::Integer) {
      continue;
    }
    const Sum other = table.sum_of(fact->operands[0]);
    if (other.terms.size() < 2) continue;  // ranges hold those
    for (const Term& term : sum.terms) {
      for (const Term& shared : other.terms) {
        if (shared.monomial != term.monomial || term.coefficient == INT64_MIN ||
            term.coefficient % shared.coefficient != 0) {
          continue;
        }
        const int64_t times = term.coefficient / shared.coefficient;
        Sum rest = sum;
        if ((times < 0 && !is_equality) || !rest.add(other, -times)) continue;
        if (range(rest).most <= 0) return true;
      }
    }
  }
  return false;
}

// What an equality of a multiple says of `sum` == 0.
std::optional<bool> Environment::Facts::stated_zero(const Sum& sum) {
  if (sum.terms.size() < 2) return std::nullopt;  // ranges hold those
  // It names the same symbols.
  SymbolId named;
  for_each_symbol(sum.terms[0].monomial, [&](SymbolId id) { named = id; });
  const int64_t own = sum.terms[0].coefficient;
  for (uint32_t place : mentions_of(named)) {
    const E fact = asserted[place];
    if (fact->operation != Operation::Equal ||
        fact->operands[0]->type != Type::Integer) {
      continue;
    }
    const Sum other = table.sum_of(fact->operands[0]);
    if (other.terms.size() != sum.terms.size()) continue;
    const int64_t its = other.terms[0].coefficient;
    Sum rest = sum;
    if (own == INT64_MIN || own % its != 0 || !rest.add(other, -(own / its)) ||
        !rest.terms.empty()) {
      continue;
    }
    return rest.constant == 0;
  }
  return std::nullopt;
}

// Whether `sum` == 0, for what its sign tells or an equality.
std::optional<bool> Environment::Facts::infer_zero(const Sum& sum) {
  if (const auto answer = stated_zero(sum)) return answer;
  // Not zero, if less or greater.
  steps_left_ = kMostSteps;
  Sum above = sum;
  if (above.add_constant(1) && infer_sign(above, 1) == true) {
    return false;
  }
  const auto is_low = infer_sign(sum, 1);
  if (is_low == false) return false;
  // Zero, if neither greater nor less.
  Sum opposite;
  if (is_low && opposite.add(sum, -1) && infer_sign(opposite, 1) == true) {
    return true;
  }
  return std::nullopt;
}

}  // namespace magneto::shapes
