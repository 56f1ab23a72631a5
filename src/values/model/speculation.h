// SPDX-License-Identifier: BSD-3-Clause
// A part of a trace that may be taken back, or compared with another one that
// began at the same checkpoint.
//
//   Speculation body(ctx);
//   Outcome<V> result = call(ctx, function, args);
//   if (!result) { body.rollback(); ... }
//
// What a rollback takes back is what the journal knows: every store of the
// Context, the interpreter's variables, fakes' metadata, torch's state. What
// C++ scopes put back themselves (the frame that runs, the depth of calls, the
// module whose forward it is) is the same at both ends of a speculation. How
// many steps the trace has made is never taken back, nor is why it broke.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/journal.h"
#include "values/model/context.h"

namespace magneto::values {

// Something that a program can tell was written: "list L['log']", "[1, 2]".
struct WrittenState {
  // The same for the same thing in runs from one checkpoint.
  std::pair<const Journaled*, uint64_t> key;
  std::string name;
  std::string content;
};

class Speculation {
 public:
  explicit Speculation(Context& ctx);
  Speculation(const Speculation&) = delete;
  Speculation& operator=(const Speculation&) = delete;

  // Takes back all since the beginning. The values that were made since must
  // not be used any more.
  void rollback();

  // Whether a call was recorded in the graph, or something written that was
  // there before. A generator that goes on is none, if its store isn't asked
  // for.
  bool has_effects(const Journaled* but_in = nullptr) const;
  // The same, where what was made since `outer` began doesn't count either.
  bool has_effects_outside(const Speculation& outer) const;

  // What was written, as it is now, in the order of the first writes: without
  // calls of the graph, without what was put back, and without what was made
  // since the beginning, unless something older holds it.
  std::vector<WrittenState> changes() const;
  // The objects of the heap among what was written; nothing if more was written
  // than such objects.
  std::optional<std::vector<HeapId>> written_objects() const;

 private:
  // Calls visit(record, part) for each write to what is older than `outer`,
  // until one gives true; whether one did.
  template <class Visit>
  bool any_write(const Speculation& outer, Visit visit) const;
  // Calls visit(key, part) for each part that was written, and not put back.
  template <class Visit>
  void each_change(Visit visit) const;

  Context& ctx_;
  Journal::Position begin_;
  size_t calls_;    // of the graph,
  size_t objects_;  // and of the heap, that there were
  V exception_;     // that was raised and not yet caught
};

// How two runs from one checkpoint differ first, in the user's terms, as a
// clause about the first that says what the second does instead; empty if they
// don't.
std::string first_difference(std::span<const WrittenState> first,
                             std::string_view first_name,
                             std::span<const WrittenState> second,
                             std::string_view second_name);

}  // namespace magneto::values
