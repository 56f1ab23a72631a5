// SPDX-License-Identifier: BSD-3-Clause
// The contexts of torch's that the graph has entered and not left, each by a
// node of its own. They are left in order, innermost first. Rollback takes back
// what was entered and left since.
#pragma once

#include <span>
#include <vector>

#include "graph/arg.h"
#include "support/journal.h"
#include "values/model/value.h"

namespace magneto::values {

struct EnteredContext {
  enum class Kind : uint8_t {
    InferenceMode,
    Autocast,
    // The state outside of a torch.autocast of the caller's that was left.
    OutsideOfAutocast,
  };
  Kind kind;
  graph::NodeId node;  // that enters it
  HeapId manager;      // whose __enter__ or, OutsideOfAutocast, __exit__ it was
};

class EnteredContexts final : public OnePartJournaled {
 public:
  void enter(Journal& journal, EnteredContext context);
  // The innermost one; there must be one.
  void leave(Journal& journal);

  // Outermost first.
  std::span<const EnteredContext> open() const { return open_; }

  bool is_restored(uint64_t, uint64_t innermost) const override {
    return this->innermost() == innermost;
  }
  std::string part_name(uint64_t) const override;
  std::string part_content(uint64_t) const override;
  void undo(uint64_t what, uint64_t) noexcept override;

 private:
  enum What : uint64_t { kEnter, kLeave };
  // Tells the stacks of contexts apart that there were.
  uint64_t innermost() const;
  std::vector<EnteredContext> open_;
  std::vector<EnteredContext> left_;  // for undo()
};

}  // namespace magneto::values
