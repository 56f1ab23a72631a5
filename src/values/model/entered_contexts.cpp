// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/entered_contexts.h"

#include "support/check.h"

namespace magneto::values {

void EnteredContexts::enter(Journal& journal, EnteredContext context) {
  journal.record(this, kEnter, innermost());
  open_.push_back(context);
}

void EnteredContexts::leave(Journal& journal) {
  MG_CHECK(!open_.empty(), "a context that the graph has entered");
  journal.record(this, kLeave, innermost());
  left_.push_back(open_.back());
  open_.pop_back();
}

uint64_t EnteredContexts::innermost() const {
  if (open_.empty()) return 0;
  const EnteredContext& last = open_.back();
  return uint64_t{last.manager.index} << 32 | (last.node.index + 1);
}

std::string EnteredContexts::part_name(uint64_t) const {
  return "which autocasts and inference modes are entered";
}

std::string EnteredContexts::part_content(uint64_t) const {
  std::string text;
  for (const EnteredContext& context : open_) {
    switch (context.kind) {
      case EnteredContext::Kind::InferenceMode:
        text += "inference mode, ";
        break;
      case EnteredContext::Kind::Autocast:
        text += "autocast, ";
        break;
      case EnteredContext::Kind::OutsideOfAutocast:
        text += "outside of an autocast, ";
        break;
    }
  }
  return text.empty() ? "none" : text.substr(0, text.size() - 2);
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
