// SPDX-License-Identifier: BSD-3-Clause
// Expressions compiled to flat steps over registers: what runs at each call.
// Common parts are computed once. Allocates nothing while it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shapes/expression.h"

namespace magneto::shapes {

class Program {
 public:
  // The register that holds `e` after a run.
  uint32_t add(E e);
  // The program stops here, as failed, if `condition` is false.
  void check(E condition);

  // Runs all steps; `symbols[i]` is the value of the symbol with that number.
  // False if a check failed, or if something can't be computed: Python would
  // raise (division by zero), 64 bits don't hold a result, or an int is too
  // large to be a float exactly. Then failed_check() tells which check.
  bool run(std::span<const Number> symbols) noexcept;
  // The number of the check that failed in the last run, in the order of
  // check() calls: one whose parts couldn't be computed failed, too.
  size_t failed_check() const { return failed_; }

  Number result(uint32_t reg) const { return registers_[reg]; }
  bool is_empty() const { return steps_.empty(); }
  // Symbols that any step reads, by number.
  std::span<const SymbolId> symbols() const { return symbols_; }

 private:
  struct Step {
    Operation operation;
    Type type;  // of the operands
    bool is_check;
    uint32_t result, left, right;
  };
  std::vector<Step> steps_;
  std::vector<Number> registers_;
  std::vector<std::pair<E, uint32_t>> known_;  // sorted by expression's id
  std::vector<std::pair<SymbolId, uint32_t>> loads_;
  std::vector<SymbolId> symbols_;
  size_t checks_ = 0;
  size_t failed_ = 0;
};

// One operation on numbers, as Python computes it; none as for Program::run.
std::optional<Number> apply(Operation operation, Type operand_type, Number left,
                            Number right) noexcept;

}  // namespace magneto::shapes
