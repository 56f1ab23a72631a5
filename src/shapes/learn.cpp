// SPDX-License-Identifier: BSD-3-Clause
// Learning that a condition holds.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "shapes/facts.h"

namespace magneto::shapes {

void Environment::Facts::set(E e, const Fact& fact) {
  if (e->id >= places.size()) places.resize(table.all.size() + 64);
  if (places[e->id] == 0) {
    places[e->id] = static_cast<uint32_t>(facts.size());
    facts.emplace_back();
  }
  const uint32_t place = places[e->id];
  if (facts[place] == fact) return;
  if (owner && owner->journal_) {
    changes.push_back({place, facts[place]});
    owner->journal_->record(owner, kFactChange);
  }
  facts[place] = fact;
  has_sum_facts |= e->operation == Operation::Add;
  ++version_;
}

void Environment::Facts::undo() noexcept {
  const Change& change = changes.back();
  if (change.place == kAsserted) {
    for_each_symbol(asserted.back(),
                    [&](SymbolId id) { mentions_[id.index].pop_back(); });
    asserted.pop_back();
  } else {
    facts[change.place] = change.old;
  }
  changes.pop_back();
  ++version_;
}

void Environment::Facts::learn(E condition) {
  condition = simplify(condition);
  if (condition->is_constant() || fact(condition).truth > 0) return;
  if (condition->operation == Operation::And) {
    for (E operand : condition->operands) learn(operand);
    return;
  }
  const auto place = static_cast<uint32_t>(asserted.size());
  for_each_symbol(condition,
                  [&](SymbolId id) { mentions_of(id).push_back(place); });
  asserted.push_back(condition);
  if (owner && owner->journal_) {
    changes.push_back({kAsserted, {}});
    owner->journal_->record(owner, kFactChange);
  }
  const auto set_truth = [&](E e, int8_t truth) {
    Fact own = fact(e);
    own.truth = truth;
    set(e, own);
  };
  set_truth(condition, 1);
  const bool negated = condition->operation == Operation::Not;
  const E inner = negated ? condition->operands[0] : condition;
  if (negated) set_truth(inner, -1);
  if (condition->operation == Operation::Or) learn_either(condition);
  if (inner->operation != Operation::Equal &&
      inner->operation != Operation::LessEqual) {
    return;
  }
  if (inner->operands[0]->type == Type::Integer) {
    learn_sum(condition);
  } else if (condition->operation == Operation::Equal) {
    // A float symbol that equals a number is that number; but 0.0 == -0.0.
    for (int i : {0, 1}) {
      const E symbol = condition->operands[i];
      const E value = condition->operands[1 - i];
      if (symbol->is_symbol() && value->is_constant() &&
          value->value.real() != 0 && !std::isnan(value->value.real())) {
        replace(symbol, value);
        return;
      }
    }
  }
}

// What a condition says of the range of `base`; everything if nothing.
Range Environment::Facts::said_range(E condition, E base) {
  Range said;
  if (condition->operation == Operation::And) {
    for (E operand : condition->operands)
      said = intersect(said, said_range(operand, base));
    return said;
  }
  const bool is_equality = condition->operation == Operation::Equal;
  if ((!is_equality && condition->operation != Operation::LessEqual) ||
      condition->operands[0]->type != Type::Integer)
    return said;
  const Affine form = affine(condition->operands[0]);
  if (form.base != base || (form.scale != 1 && form.scale != -1) ||
      form.offset == INT64_MIN)
    return said;
  if (form.scale == 1) said.most = -form.offset;
  if (form.scale == -1) said.least = form.offset;
  if (is_equality)
    said = Range::exactly(form.scale == 1 ? -form.offset : form.offset);
  return said;
}

// One of the operands holds: a range that each of them says something of.
void Environment::Facts::learn_either(E condition) {
  std::vector<E> bases;
  const auto add_bases = [&](E part) {
    if ((part->operation == Operation::Equal ||
         part->operation == Operation::LessEqual) &&
        part->operands[0]->type == Type::Integer)
      bases.push_back(affine(part->operands[0]).base);
  };
  const E first = condition->operands[0];
  add_bases(first);
  if (first->operation == Operation::And)
    for (E operand : first->operands) add_bases(operand);
  for (E base : bases) {
    if (!base) continue;
    Range all = Range::exactly(0);
    bool is_first = true;
    for (E operand : condition->operands) {
      const Range said = said_range(operand, base);
      all = is_first ? said
                     : Range{std::min(all.least, said.least),
                             std::max(all.most, said.most)};
      is_first = false;
    }
    restrict(base, all);
  }
}

// A comparison of a sum with zero.
void Environment::Facts::learn_sum(E condition) {
  const bool negated = condition->operation == Operation::Not;
  const E comparison = negated ? condition->operands[0] : condition;
  const E sum = comparison->operands[0];
  const Affine form = affine(sum);
  // Coefficients of a comparison are coprime, so the scale is 1 or -1.
  if ((form.scale != 1 && form.scale != -1) || form.offset == INT64_MIN) return;
  if (comparison->operation == Operation::LessEqual) {
    if (negated) return;
    restrict(form.base, form.scale == 1 ? Range{Range::kLeast, -form.offset}
                                        : Range{form.offset, Range::kMost});
    propagate(sum);
    return;
  }
  const int64_t value = form.scale == 1 ? -form.offset : form.offset;
  if (!negated) {
    restrict(form.base, Range::exactly(value));
    learn_equal(sum);
    return;
  }
  const Range values = range(form.base);
  if (values.least == value && value != Range::kMost) {
    restrict(form.base, {value + 1, Range::kMost});
  } else if (values.most == value && value != Range::kLeast) {
    restrict(form.base, {Range::kLeast, value - 1});
  }
}

// From `sum` <= 0, the bound of each of its symbols by the ranges of the other
// terms: c * s <= -(the least of the others).
void Environment::Facts::propagate(E e) {
  const Sum sum = table.sum_of(e);
  if (sum.terms.size() < 2) return;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const auto [symbol, coefficient] = sum.terms[i];
    if (!symbol->is_symbol() || coefficient == INT64_MIN) continue;
    Sum others = sum;
    others.terms.erase(i);
    const int64_t least = range(others).least;
    if (least == Range::kLeast) continue;
    restrict(symbol,
             coefficient > 0
                 ? Range{Range::kLeast, floor_quotient(-least, coefficient)}
                 : Range{-floor_quotient(-least, -coefficient), Range::kMost});
  }
}

void Environment::Facts::restrict(E base, const Range& bound) {
  Fact own = fact(base);
  // What else is known of the range helps to see that it is a single number.
  const Range all = intersect(range(base), bound);
  if (all.is_empty()) return;
  const Range narrowed = intersect(own.bound, bound);
  if (narrowed == own.bound) return;
  own.bound = narrowed;
  set(base, own);
  if (all.least != all.most || !all.is_bounded()) return;
  if (base->is_symbol()) {
    if (!own.replacement) replace(base, table.integer(all.least));
  } else if (bound.least != bound.most) {
    if (const E value =
            table.binary(Operation::Equal, base, table.integer(all.least))) {
      learn(value);
    }
  }
}

// Solves `sum` == 0 for a symbol that stands in it alone, with coefficient 1 or
// -1. A symbol of the call is never replaced by one of the graph.
void Environment::Facts::learn_equal(E equal) {
  const Sum sum = table.sum_of(equal);
  if (sum.terms.size() == 1 &&
      sum.terms[0].monomial->operation == Operation::Modulo &&
      sum.terms[0].coefficient == 1) {
    learn_modulo(sum.terms[0].monomial, -sum.constant);
    return;
  }
  if (sum.terms.size() == 1 &&
      sum.terms[0].monomial->operation == Operation::FloorDivide) {
    const E division = sum.terms[0].monomial;
    const E value = table.integer(-sum.constant);
    for (const auto& [a, b] : {std::pair(division, value), {value, division}}) {
      const E bound = table.binary(Operation::LessEqual, a, b);
      if (bound && !fact(bound).truth) learn(bound);
    }
    return;
  }
  bool has_unbacked = false;
  for_each_symbol(equal, [&](SymbolId id) {
    has_unbacked |= !symbols[id.index].is_backed;
  });
  E chosen = nullptr;
  for (const Term& term : sum.terms) {
    const E symbol = term.monomial;
    if (!symbol->is_symbol() ||
        (term.coefficient != 1 && term.coefficient != -1) ||
        (has_unbacked && symbols[symbol->symbol.index].is_backed)) {
      continue;
    }
    bool is_elsewhere = false;
    for (const Term& other : sum.terms) {
      if (other.monomial == symbol) continue;
      for_each_symbol(other.monomial, [&](SymbolId id) {
        is_elsewhere |= id == symbol->symbol;
      });
    }
    if (is_elsewhere) continue;
    if (!chosen || chosen->symbol < symbol->symbol) chosen = symbol;
  }
  if (!chosen) return;
  Sum others;
  int64_t coefficient = 0;
  for (const Term& term : sum.terms) {
    if (term.monomial == chosen) {
      coefficient = term.coefficient;
    } else {
      others.terms.push_back(term);
    }
  }
  others.constant = sum.constant;
  Sum solution;
  if (!solution.add(others, -coefficient)) return;
  replace(chosen, table.make_sum(solution));
}

// x % k == r
void Environment::Facts::learn_modulo(E modulo, int64_t residue) {
  const E divisor = modulo->operands[1];
  if (!divisor->is_constant()) return;
  const int64_t k = divisor->value.integer();
  if (k <= 0 || residue < 0 || residue >= k) return;
  const Affine form = affine(modulo->operands[0]);
  // scale * base is residue - offset, modulo k
  const int64_t scale = floor_remainder(form.scale, k);
  if (std::gcd(scale, k) != 1 || k > INT32_MAX) return;
  int64_t inverse = 1;
  {
    int64_t a = scale, b = k, x = 1, y = 0;
    while (b != 0) {
      const int64_t quotient = a / b;
      std::tie(a, b) = std::pair(b, a - quotient * b);
      std::tie(x, y) = std::pair(y, x - quotient * y);
    }
    inverse = floor_remainder(x, k);
  }
  const int64_t wanted =
      floor_remainder(residue - floor_remainder(form.offset, k), k);
  Fact own = fact(form.base);
  own.congruence =
      intersect(own.congruence, Congruence{k, (wanted * inverse) % k});
  set(form.base, own);
}

void Environment::Facts::replace(E symbol, E replacement) {
  Fact own = fact(symbol);
  if (own.replacement) return;
  own.replacement = replacement;
  set(symbol, own);
  if (replacement->has_symbols) {
    // What was known of the symbol is known of what replaces it.
    const auto tell = [&](Operation operation, E a, E b) {
      const E condition = a && b ? table.binary(operation, a, b) : nullptr;
      if (condition) learn(condition);
    };
    if (own.bound.least != Range::kLeast) {
      tell(Operation::LessEqual, table.integer(own.bound.least), replacement);
    }
    if (own.bound.most != Range::kMost) {
      tell(Operation::LessEqual, replacement, table.integer(own.bound.most));
    }
    if (own.congruence.modulus > 1) {
      tell(Operation::Equal,
           table.binary(Operation::Modulo, replacement,
                        table.integer(own.congruence.modulus)),
           table.integer(own.congruence.residue));
    }
  }
  // Facts that speak of the symbol are told once more, without it.
  const size_t count = mentions_of(symbol->symbol).size();
  for (size_t i = 0; i < count; ++i) {
    const E stated = asserted[mentions_of(symbol->symbol)[i]];
    const E rewritten = simplify(stated);
    if (rewritten != stated) learn(rewritten);
  }
}

}  // namespace magneto::shapes
