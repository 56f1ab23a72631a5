// SPDX-License-Identifier: BSD-3-Clause
// The shape environment of one trace: its symbols, what is known of them, and
// which decisions the trace has made about them.
//
// A *backed* symbol stands for a number that the call brings (a size, an int
// argument); its hint is the value in the call that is being traced. A decision
// that what is known can't settle is settled by the hints, and becomes a guard.
// An *unbacked* symbol stands for a number that the graph computes, or that the
// call brings and nobody may look at; a decision about it can't be made by
// hint.
//
// Every change is journaled.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shapes/decision.h"
#include "shapes/expression.h"
#include "shapes/number.h"
#include "shapes/range.h"
#include "support/journal.h"

namespace magneto::shapes {

struct Symbol {
  Type type;
  bool is_backed;
  bool is_given;  // the call brings it: all backed ones, and unbacked ones
                  // whose value nothing may depend on
  Number hint;    // of a backed one
  E expression;
};

class Environment final : public UnseenJournaled {
 public:
  // `journal` may be null: nothing is ever undone.
  explicit Environment(Journal* journal);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // No journal from here on (its trace is over).
  void detach() {
    journal_ = nullptr;
    place_ = nullptr;
    name_ = nullptr;
  }

  Expressions& expressions() { return expressions_; }

  // ---- Symbols
  // `range` is known without a guard (a size isn't negative) for an unbacked
  // one; for a backed one it is guarded (range_guards), so give no more than
  // what is relied on.
  // `always` is where the number is in every call, which no guard needs to ask.
  E backed(Type type, Number hint, Range range = {}, Range always = {});
  // `is_given`: the call brings it.
  E unbacked(Type type, Range range = {}, bool is_given = false);
  const Symbol& symbol(SymbolId id) const { return symbols_[id.index]; }
  // Where in the program it was made: see set_place.
  uint32_t place_of(SymbolId id) const { return first_[id.index].place; }
  size_t symbol_count() const { return symbols_.size(); }

  // ---- What is known
  // `e` with equalities that were found applied (s0 == s1 replaces one by the
  // other, s0 == 4 makes it a constant).
  E simplify(E e);
  Range range(E e);
  // Whether a condition always or never holds, as far as ranges, equalities,
  // divisibility and earlier decisions tell.
  std::optional<bool> known(E condition);
  // The value for the hints; none if an unbacked symbol is in it, or if Python
  // would raise, or 64 bits don't hold a part of it.
  std::optional<Number> hint(E e) const;
  bool has_unbacked(E e) const;
  // Whether any has been made.
  bool has_unbacked_symbols() const { return unbacked_count_ != 0; }

  // ---- Decisions
  // known(), or what the hints say, which then is a fact and a guard. None if
  // there is no hint.
  std::optional<bool> decide(E condition);
  // The hint, with a guard that `e` has this value; none if there is no hint.
  std::optional<Number> specialize(E e);
  // The call must fulfil the condition, which is about its own numbers and
  // holds for those of the call that is traced: a fact and a guard, hints or
  // not.
  void require(E condition);
  // The condition holds, because the graph or the program itself checks it: a
  // fact without a guard. False if it is known not to hold.
  bool assume(E condition);

  // The number kept with decisions and symbols from here on (a location in the
  // traced program), asked for when one is made.
  void set_place(std::function<uint32_t()> place) { place_ = std::move(place); }
  // What the user calls a number of the call's ("x.size(0)"); empty for others.
  void set_names(std::function<std::string(SymbolId)> name) {
    name_ = std::move(name);
  }

  // ---- For guards and texts
  // With symbols called s0, s1, ... and those of the graph u0, u1, ...
  std::string show(E e) const;
  // In the user's terms, where a symbol has some.
  std::string show_to_user(E e) const;
  // All decisions in the order in which they were made.
  std::span<const Decision> decisions() const { return decisions_; }
  // The conditions to check at each call: what decisions imply and what ranges
  // of backed symbols say, without those that others imply. Over backed
  // symbols only, in terms of the symbols as first made.
  std::vector<Decision> guards();

  void undo(uint64_t what, uint64_t index) noexcept override;

 private:
  struct Facts;
  struct FirstRange {
    Range range;
    Range always;
    uint32_t place;
  };
  // What a record of the journal is about.
  enum Change : uint64_t { kFactChange, kSymbolMade, kDecisionMade };

  // What the hints say of an expression, by its id.
  struct Hinted {
    bool is_computed = false;
    bool has_unbacked = false;
    std::optional<Number> value;
  };
  Hinted hinted(E e) const;
  Hinted compute_hinted(E e) const;
  uint32_t place() const { return place_ ? place_() : kNoPlace; }
  void add_decision(E condition);
  E add_symbol(Symbol symbol, Range range, Range always);

  Journal* journal_;
  Expressions expressions_;
  std::vector<Symbol> symbols_;
  size_t unbacked_count_ = 0;
  mutable std::vector<Hinted> hinted_;
  std::vector<FirstRange> first_;  // of symbols, when they were made
  std::vector<Decision> decisions_;
  std::unique_ptr<Facts> facts_;
  std::function<uint32_t()> place_;
  std::function<std::string(SymbolId)> name_;
};

}  // namespace magneto::shapes
