// SPDX-License-Identifier: BSD-3-Clause
// Replays what was written to the caller's objects: each is written once, with
// what it holds in the end.
#pragma once

#include <unordered_set>

#include "artifact/rebuilder.h"

namespace magneto::artifact {

class Replay {
 public:
  Replay(values::Context& ctx, Rebuilder& rebuilder)
      : ctx_(ctx), rebuilder_(rebuilder) {}

  // What was written to this container, unless it has been replayed already.
  void container(values::HeapId id);
  // All that is left, in the order of the first writes.
  void all();

 private:
  void object(values::HeapId id);
  void replay(const values::HeapObject& state);
  void replay_attributes(values::V object, const values::HeapObject& state);

  values::Context& ctx_;
  Rebuilder& rebuilder_;
  std::unordered_set<uint32_t> begun_;
  std::unordered_set<uint32_t> done_;
};

}  // namespace magneto::artifact
