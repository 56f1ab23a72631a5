// SPDX-License-Identifier: BSD-3-Clause
// What an environment knows. Facts are kept per expression, by its id:
// - of an int without a constant part: its range and what it is modulo a
// number;
// - of a condition: whether it holds;
// - of a symbol: what replaces it.
// Each new fact starts a new version; what was derived from facts is kept with
// the version in which it was.
#pragma once

#include <optional>
#include <vector>

#include "shapes/environment.h"
#include "shapes/table.h"

namespace magneto::shapes {

// Values are `residue` modulo `modulus`: 1 for all ints, 0 for just `residue`.
struct Congruence {
  int64_t modulus = 1;
  int64_t residue = 0;

  bool is_trivial() const { return modulus == 1; }
  // Whether all values have the same remainder by `divisor`.
  bool settles(int64_t divisor) const { return modulus % divisor == 0; }
  friend bool operator==(const Congruence&, const Congruence&) = default;
};

Congruence add(const Congruence& a, const Congruence& b);
Congruence multiply(const Congruence& a, const Congruence& b);
// Values that are in both; `a` if that can't be said in 64 bits.
Congruence intersect(const Congruence& a, const Congruence& b);

// e == scale * base + offset, where `base` has coprime coefficients, the first
// of them positive, and no constant. `base` is null for a constant.
struct Affine {
  E base;
  int64_t scale;
  int64_t offset;
};

struct Environment::Facts {
  struct Fact {
    Range bound;
    Congruence congruence;
    E replacement = nullptr;
    int8_t truth = 0;  // 1: holds, -1: doesn't
    friend bool operator==(const Fact&, const Fact&) = default;
  };
  struct Change {
    uint32_t place;  // in `facts`; kAsserted: a condition was asserted
    Fact old;
  };
  static constexpr uint32_t kAsserted = 0xffffffffu;

  // `owner` may be null; else it journals changes, which undo() takes back.
  Facts(Expressions& table_of, const std::vector<Symbol>& symbols_of,
        Environment* journaling)
      : expressions(table_of),
        table(table_of.table()),
        symbols(symbols_of),
        owner(journaling) {}

  // ---- facts.cpp: asking
  const Fact& fact(E e) const {
    return facts[e->id < places.size() ? places[e->id] : 0];
  }
  Range range(E e);  // of `e` as it stands
  Range range(const Sum& sum);
  Congruence congruence(E e);
  std::optional<bool> known(E condition);
  Affine affine(E e);

  // ---- simplify.cpp
  E simplify(E e);

  // ---- infer.cpp: what ranges alone don't tell
  // Whether `sum` <= 0, always or never.
  std::optional<bool> infer_sign(const Sum& sum, int depth = 0);
  std::optional<bool> infer_zero(const Sum& sum);

  // ---- learn.cpp: telling
  void learn(E condition);
  void restrict(E base, const Range& range);
  void replace(E symbol, E replacement);
  void set(E e, const Fact& fact);
  void undo() noexcept;

  Expressions& expressions;
  Expressions::Table& table;
  const std::vector<Symbol>& symbols;
  Environment* owner;

  std::vector<Fact> facts = {Fact{}};  // the first: nothing is known
  std::vector<uint32_t> places;        // by id, in `facts`
  bool has_sum_facts = false;          // some fact is, or was, about a sum
  std::vector<E> asserted;             // conditions, in the order of learning
  std::vector<Change> changes;         // what undo() takes back

 private:
  struct Derived {
    uint32_t simplified_in = 0, range_in = 0, known_in = 0, congruence_in = 0;
    int8_t known = 0;
    E simplified = nullptr;
    Range range;
    Congruence congruence;
  };
  Derived& derived(E e) {
    if (e->id >= cache_.size()) cache_.resize(table.all.size() + 64);
    return cache_[e->id];
  }
  // Where in `asserted` a symbol is named, in that order.
  std::vector<uint32_t>& mentions_of(SymbolId symbol) {
    if (symbol.index >= mentions_.size()) mentions_.resize(symbols.size());
    return mentions_[symbol.index];
  }
  Range natural_range(E e);
  Congruence natural_congruence(E e);
  std::optional<bool> compute_known(E condition);
  E apply_rules(E e);
  E cancel_divisions(E e);
  bool is_multiple(E a, E b);
  E divide_out(E condition);
  std::optional<bool> stated_zero(const Sum& sum);
  bool shows_sign(const Sum& sum, int depth);
  bool shows_sign_by_facts(const Sum& sum);
  std::optional<bool> infer_by_extremum(const Sum& sum, int depth);
  void propagate(E sum);
  void learn_sum(E condition);
  Range said_range(E condition, E base);
  void learn_either(E condition);
  void learn_equal(E sum);
  void learn_modulo(E modulo, int64_t residue);

  std::vector<Derived> cache_;  // by id
  std::vector<std::vector<uint32_t>> mentions_;
  int steps_left_ = 0;    // of a conclusion
  uint32_t version_ = 1;  // never the same for two sets of facts
};

}  // namespace magneto::shapes
