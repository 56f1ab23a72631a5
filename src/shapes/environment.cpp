// SPDX-License-Identifier: BSD-3-Clause
// Symbols, hints and decisions.
#include "shapes/environment.h"

#include <algorithm>
#include <cmath>

#include "shapes/facts.h"
#include "shapes/program.h"
#include "shapes/show.h"

namespace magneto::shapes {

Environment::Environment(Journal* journal)
    : journal_(journal),
      facts_(std::make_unique<Facts>(expressions_, symbols_, this)) {}

Environment::~Environment() = default;

E Environment::backed(Type type, Number hint, Range range, Range always) {
  return add_symbol(
      {.type = type, .is_backed = true, .is_given = true, .hint = hint}, range,
      always);
}

E Environment::unbacked(Type type, Range range, bool is_given) {
  return add_symbol({.type = type, .is_backed = false, .is_given = is_given},
                    range, range);
}

E Environment::add_symbol(Symbol symbol, Range range, Range always) {
  const E e = expressions_.symbol(SymbolId(symbols_.size()), symbol.type);
  symbol.expression = e;
  symbols_.push_back(symbol);
  if (!symbol.is_backed) ++unbacked_count_;
  first_.push_back({range, always, place()});
  if (journal_) journal_->record(this, kSymbolMade);
  const Range known_range = intersect(range, always);
  if (symbol.type == Type::Integer && !(known_range == Range{}))
    facts_->restrict(e, known_range);
  return e;
}

E Environment::simplify(E e) { return facts_->simplify(e); }

Range Environment::range(E e) { return facts_->range(facts_->simplify(e)); }

std::optional<bool> Environment::known(E condition) {
  return facts_->known(condition);
}

Environment::Hinted Environment::hinted(E e) const {
  if (e->is_constant()) return {true, false, e->value};
  if (e->id < hinted_.size() && hinted_[e->id].is_computed) {
    return hinted_[e->id];
  }
  const Hinted result = compute_hinted(e);
  if (e->id >= hinted_.size()) hinted_.resize(expressions_.size() + 64);
  hinted_[e->id] = result;
  return result;
}

Environment::Hinted Environment::compute_hinted(E e) const {
  if (e->is_symbol()) {
    const Symbol& own = symbols_[e->symbol.index];
    if (!own.is_backed) return {true, true, std::nullopt};
    return {true, false, own.hint};
  }
  const Type type = e->operands[0]->type;
  Hinted result = hinted(e->operands[0]);
  if (e->operands.size() == 1) {
    if (result.value) {
      result.value = apply(e->operation, type, *result.value, {});
    }
    return result;
  }
  for (E operand : e->operands.subspan(1)) {
    const Hinted right = hinted(operand);
    result.has_unbacked |= right.has_unbacked;
    result.value = result.value && right.value
                       ? apply(e->operation, type, *result.value, *right.value)
                       : std::nullopt;
  }
  return result;
}

std::optional<Number> Environment::hint(E e) const { return hinted(e).value; }

bool Environment::has_unbacked(E e) const { return hinted(e).has_unbacked; }

std::optional<bool> Environment::decide(E condition) {
  if (const auto answer = known(condition)) return answer;
  // Equalities may tell a number of the graph by those of the call.
  E decided = condition;
  auto value = hint(decided);
  if (!value) {
    decided = simplify(condition);
    value = hint(decided);
    if (!value) return std::nullopt;
  }
  const bool answer = value->truth();
  if (!answer) decided = expressions_.logical_not(decided);
  add_decision(decided);
  return answer;
}

void Environment::add_decision(E condition) {
  decisions_.push_back({condition, place()});
  if (journal_) journal_->record(this, kDecisionMade);
  facts_->learn(condition);
}

void Environment::require(E condition) {
  if (!known(condition).value_or(false)) add_decision(condition);
}

std::optional<Number> Environment::specialize(E e) {
  E target = simplify(e);
  if (target->is_constant()) return target->value;
  auto value = hint(e);
  if (value) {
    target = e;
  } else {
    value = hint(target);
    if (!value) return std::nullopt;
  }
  if (e->type == Type::Boolean) {
    decide(target);
    return value;
  }
  const E constant = expressions_.constant(e->type, *value);
  E condition = expressions_.equal(target, constant);
  if (e->type == Type::Float) {
    if (std::isnan(value->real())) {
      condition = expressions_.logical_not(expressions_.equal(target, target));
    } else if (value->real() == 0) {
      const E sign = expressions_.make(Operation::CopySign,
                                       expressions_.real(1.0), target);
      condition = expressions_.make(
          Operation::And, expressions_.equal(target, expressions_.real(0.0)),
          expressions_.equal(
              sign, expressions_.real(std::copysign(1.0, value->real()))));
    }
  }
  if (!condition || !decide(condition).value_or(false)) return std::nullopt;
  const E own = simplify(e);
  if (e->type == Type::Float && own->is_symbol())
    facts_->replace(own, constant);
  return value;
}

bool Environment::assume(E condition) {
  const auto answer = known(condition);
  if (!answer) facts_->learn(condition);
  return answer.value_or(true);
}

std::string Environment::show(E e) const {
  return shapes::show(e, [this](SymbolId id) {
    const bool is_backed = symbols_[id.index].is_backed;
    const auto before = std::count_if(
        symbols_.begin(), symbols_.begin() + id.index,
        [&](const Symbol& each) { return each.is_backed == is_backed; });
    return (is_backed ? "s" : "u") + std::to_string(before);
  });
}

std::string Environment::show_to_user(E e) const {
  return shapes::show(e, [this](SymbolId id) {
    std::string name = name_ ? name_(id) : std::string();
    return name.empty() ? show(symbols_[id.index].expression) : name;
  });
}

void Environment::undo(uint64_t what, uint64_t) noexcept {
  switch (what) {
    case kSymbolMade:
      if (!symbols_.back().is_backed) --unbacked_count_;
      symbols_.pop_back();
      hinted_.clear();  // the next symbol with its number is another
      first_.pop_back();
      break;
    case kDecisionMade:
      decisions_.pop_back();
      break;
    default:
      facts_->undo();
  }
}

}  // namespace magneto::shapes
