// SPDX-License-Identifier: BSD-3-Clause
// Calls of functions that only tell somebody something, as print does, and of
// which the program says that they may wait
// (magneto.config.reorderable_logging_functions): a compiled piece makes them
// at its end, in order. Rollback forgets those since.
#pragma once

#include <span>
#include <vector>

#include "python/ref.h"
#include "support/journal.h"
#include "values/model/heap.h"
#include "values/model/inliner.h"

namespace magneto::values {

class Context;

class DeferredCalls final : public OnePartJournaled {
 public:
  // Which functions may wait, a container of them; null: none.
  void allow(Ref functions) { functions_ = std::move(functions); }
  // Whether a call waits, having been noted. Not where it would show what the
  // program may change meanwhile, other than what tensors hold.
  bool take(Context& ctx, V function, const Arguments& args);

  // The same of what waits whatever the program says.
  void note(Context& ctx, V function, const Arguments& args);
  void note(Context& ctx, LateCall call);

  std::span<const LateCall> calls() const { return calls_; }

  std::string part_name(uint64_t) const override;
  std::string part_content(uint64_t) const override;
  void undo(uint64_t, uint64_t) noexcept override { calls_.pop_back(); }

 private:
  bool is_allowed(PyObject* function) const;
  void add(Context& ctx, LateCall call);

  Callers* describing_ = nullptr;  // since the first call
  Ref functions_;
  std::vector<LateCall> calls_;
};

}  // namespace magneto::values
