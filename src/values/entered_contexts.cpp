// SPDX-License-Identifier: BSD-3-Clause
#include "values/entered_contexts.h"

#include "support/check.h"

namespace magneto::values {

void EnteredContexts::enter(Journal& journal, EnteredContext context) {
  open_.push_back(context);
  journal.record(this, kEnter);
}

void EnteredContexts::leave(Journal& journal) {
  MG_CHECK(!open_.empty(), "a context that the graph has entered");
  left_.push_back(open_.back());
  open_.pop_back();
  journal.record(this, kLeave);
}

void EnteredContexts::undo(uint64_t what, uint64_t) noexcept {
  if (what == kEnter) {
    open_.pop_back();
  } else {
    open_.push_back(left_.back());
    left_.pop_back();
  }
}

}  // namespace magneto::values
