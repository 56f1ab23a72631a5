// SPDX-License-Identifier: BSD-3-Clause
// The conditions that a call is checked by: a set of the decisions and first
// ranges that implies the others. Conditions are taken strongest first, and one
// that those taken before imply is left out; what the graph itself checks
// (assume) implies nothing here.
#include <algorithm>

#include "shapes/facts.h"

namespace magneto::shapes {

namespace {

// Strongest first.
enum Rank { kEquality, kMultiple, kBound, kRelation, kOther };

struct Candidate {
  Decision decision;
  size_t order;
  Rank rank = kOther;
  int64_t tightness = 0;  // of bounds: the greatest is the tightest
};

void rank(Expressions::Table& table, E condition, Candidate& candidate) {
  const bool equal = condition->operation == Operation::Equal;
  candidate.rank = equal || condition->is_symbol() ? kEquality : kOther;
  candidate.tightness = 0;
  if ((!equal && condition->operation != Operation::LessEqual) ||
      condition->operands[0]->type != Type::Integer) {
    return;
  }
  const Sum sum = table.sum_of(condition->operands[0]);
  const bool of_one = sum.terms.size() == 1;
  const bool of_symbol = of_one && sum.terms[0].monomial->is_symbol();
  if (equal) {
    candidate.rank = of_one && !of_symbol ? kMultiple : kEquality;
  } else {
    candidate.rank = of_symbol ? kBound : kRelation;
    candidate.tightness = sum.constant;
  }
}

bool is_stronger(const Candidate& a, const Candidate& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.tightness != b.tightness) return a.tightness > b.tightness;
  return a.order < b.order;
}

}  // namespace

std::vector<Decision> Environment::guards() {
  Expressions::Table& table = expressions_.table();
  std::vector<Candidate> candidates;
  const auto offer = [&](E condition, uint32_t place) {
    Candidate candidate{{condition, place}, candidates.size()};
    rank(table, condition, candidate);
    candidates.push_back(candidate);
  };
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const Symbol& own = symbols_[i];
    const auto& [range, always, place] = first_[i];
    if (!own.is_backed || own.type != Type::Integer) continue;
    if (range.least != Range::kLeast) {
      offer(expressions_.less_equal(expressions_.integer(range.least),
                                    own.expression),
            place);
    }
    if (range.most != Range::kMost) {
      offer(expressions_.less_equal(own.expression,
                                    expressions_.integer(range.most)),
            place);
    }
  }
  for (const Decision& decision : decisions_) {
    offer(decision.condition, decision.place);
  }
  // Equalities first; the others are compared by what these leave of them.
  Facts implied(expressions_, symbols_, nullptr);
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i].is_given && symbols_[i].type == Type::Integer &&
        !(first_[i].always == Range{}))
      implied.restrict(symbols_[i].expression, first_[i].always);
  }
  std::vector<Candidate> kept;
  const auto take = [&](auto first, auto last) {
    std::sort(first, last, is_stronger);
    for (; first != last; ++first) {
      if (implied.known(first->decision.condition) == true) continue;
      implied.learn(first->decision.condition);
      kept.push_back(*first);
    }
  };
  const auto others = std::partition(
      candidates.begin(), candidates.end(),
      [](const Candidate& candidate) { return candidate.rank <= kMultiple; });
  take(candidates.begin(), others);
  for (auto it = others; it != candidates.end(); ++it) {
    rank(table, implied.simplify(it->decision.condition), *it);
  }
  take(others, candidates.end());
  std::sort(
      kept.begin(), kept.end(),
      [](const Candidate& a, const Candidate& b) { return a.order < b.order; });
  std::vector<Decision> result;
  for (const Candidate& candidate : kept) {
    result.push_back(candidate.decision);
  }
  return result;
}

}  // namespace magneto::shapes
