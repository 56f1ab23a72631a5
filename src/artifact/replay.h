// SPDX-License-Identifier: BSD-3-Clause
// Replays what was written to the caller's objects: each is written once, with
// what it holds in the end.
#pragma once

#include <unordered_set>

#include "artifact/rebuilder.h"

namespace magneto::artifact {

class Replay {
 public:
  Replay(values::Context& ctx, Rebuilder& rebuilder,
         DirectProgramBuilder& builder)
      : ctx_(ctx), rebuilder_(rebuilder), builder_(builder) {}

  // What was written to this container, unless it has been replayed already.
  void container(values::HeapId id);
  // All that is left, in the order of the first writes.
  void all();

 private:
  void object(values::HeapId id);
  void replay(const values::HeapObject& state);
  void replay_list(values::V owner, const values::HeapObject& state);
  void replay_deque(values::V owner, const values::HeapObject& state);
  void replay_dict(values::V owner, const values::HeapObject& state);
  void replay_set(values::V owner, const values::HeapObject& state);
  void replay_attributes(values::V object, const values::HeapObject& state);
  void replay_cell(values::V owner, const values::HeapObject& state);
  void replay_variable(values::V variable);
  void replay_iterator(values::V owner, const values::HeapObject& state);
  void replay_state(values::V iterator, const values::HeapObject& attributes);

  values::Context& ctx_;
  Rebuilder& rebuilder_;
  DirectProgramBuilder& builder_;
  std::unordered_set<uint32_t> begun_;
  std::unordered_set<uint32_t> done_;
};

}  // namespace magneto::artifact
