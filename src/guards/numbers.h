// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a call: symbols, bound to numbers that the call brings,
// conditions on them that must hold, and expressions of them that are results.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "shapes/program.h"

namespace magneto::guards {

// Where a symbol's number is read: a slot of the guard program.
struct NumberBinding {
  shapes::SymbolId symbol;
  shapes::Type type;
  IntKind kind;
  uint32_t node;
  int64_t dim;
  std::shared_ptr<const Draw> draw;  // IntKind::Draw
};

class Numbers {
 public:
  // `bindings`: one for each symbol that a condition or result has, and for
  // each that is drawn, in the order of drawing. Conditions that need only
  // slots below `volatile_nodes` are checked early.
  void compile(const NumberGuards& guards, std::vector<NumberBinding> bindings,
               std::span<const shapes::E> results, uint32_t volatile_nodes);

  // The early part: needs the slots of volatile nodes only.
  bool hold_early(PyObject* const* slots) noexcept {
    return early_.bindings.empty() || early_.holds(slots, values_);
  }
  bool hold_late(PyObject* const* slots) noexcept {
    return (late_.bindings.empty() || late_.holds(slots, values_)) &&
           (registers_.empty() || draws() || results_.run(values_));
  }
  // The part that is drawn from generators, when everything else holds.
  bool draws() const { return !drawn_.empty(); }
  std::span<const NumberBinding> drawn() const { return drawn_; }
  // Whether drawing may run other code: finalizers, or another thread's.
  bool calls_to_draw() const;
  // Draws, in the program's order. False without a Python error if a result
  // has no value.
  bool draw(PyObject* const* slots) noexcept;
  // Instead of drawing: numbers that might have been drawn.
  bool make_up_drawn() noexcept;
  // The n-th result, after all parts held.
  shapes::Number result(size_t n) const {
    return results_.result(registers_[n]);
  }
  shapes::Type result_type(size_t n) const { return types_[n]; }

  std::span<const shapes::E> conditions() const { return conditions_; }
  // The place in the program that needs the n-th condition; empty if there is
  // none.
  std::span<const FrameSummary> stack(size_t n) const {
    if (n >= stacks_.size()) return {};
    return stacks_[n];
  }
  // Without those that are drawn.
  std::span<const NumberBinding> bindings() const { return bindings_; }
  size_t symbol_count() const { return values_.size(); }

 private:
  struct Part {
    std::vector<NumberBinding> bindings;
    shapes::Program checks;
    bool holds(PyObject* const* slots,
               std::vector<shapes::Number>& values) noexcept;
  };

  std::shared_ptr<const shapes::Environment> environment_;  // of conditions_
  std::vector<shapes::E> conditions_;
  std::vector<std::vector<FrameSummary>> stacks_;  // of conditions_
  std::vector<NumberBinding> bindings_;
  Part early_;
  Part late_;
  std::vector<NumberBinding> drawn_;
  shapes::Program results_;
  std::vector<uint32_t> registers_;  // of results
  std::vector<shapes::Type> types_;
  std::vector<shapes::Number> values_;  // by symbol
};

// False if there is no such number (the value is of another type, or too
// large), or with a Python error set if it can't be drawn.
bool read_number(const NumberBinding& binding, PyObject* value,
                 shapes::Number* result) noexcept;

}  // namespace magneto::guards
