// SPDX-License-Identifier: BSD-3-Clause
// The journal: one list of undo records for everything that can change while
// tracing. A checkpoint is a position in it; rollback undoes back to it, newest
// first, in time proportional to what changed.
//
// A store that wants its writes undone derives from Journaled and calls
// Journal::record(this, a, b) with two words that its undo() understands;
// state that doesn't fit two words is kept by the store itself, as a stack that
// undo() pops (records are undone in exactly the reverse order of recording).
// A single variable or a list needs no store of its own: journaled.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/check.h"

namespace magneto {

// The part of a store that a record is about: an object of the heap, the one
// variable that the store is.
struct WrittenPart {
  uint64_t part = 0;
  bool is_new = false;  // the record is of its making

  friend bool operator==(const WrittenPart&, const WrittenPart&) = default;
};

class Journaled {
 public:
  virtual void undo(uint64_t a, uint64_t b) noexcept = 0;

  // What a program can tell was written; none for what only the trace knows,
  // such as guards and what was learnt of the caller's objects.
  virtual std::optional<WrittenPart> written(uint64_t a, uint64_t b) const = 0;
  // Whether such a part is now as it was before this record, the oldest that is
  // about it: what was entered has been left. False where that can't be told.
  virtual bool is_restored(uint64_t, uint64_t) const { return false; }
  // Of such a part, what it is called ("list L['log']") and how it is now
  // ("[1, 2]"), the same in every run that leaves the same there.
  virtual std::string part_name(uint64_t part) const = 0;
  virtual std::string part_content(uint64_t part) const = 0;

 protected:
  ~Journaled() = default;
};

// A store of which no program can tell: it has no parts.
class UnseenJournaled : public Journaled {
 public:
  std::optional<WrittenPart> written(uint64_t, uint64_t) const final {
    return std::nullopt;
  }
  std::string part_name(uint64_t) const final { return {}; }
  std::string part_content(uint64_t) const final { return {}; }

 protected:
  ~UnseenJournaled() = default;
};

// A store that is one part: a stack of contexts, a list of calls.
class OnePartJournaled : public Journaled {
 public:
  std::optional<WrittenPart> written(uint64_t, uint64_t) const final {
    return WrittenPart{};
  }

 protected:
  ~OnePartJournaled() = default;
};

class Journal {
 public:
  using Position = size_t;

  struct Record {
    Journaled* store;
    uint64_t a;
    uint64_t b;
  };

  void record(Journaled* store, uint64_t a = 0, uint64_t b = 0) {
    records_.push_back({store, a, b});
  }
  Position position() const { return records_.size(); }

  // Calls visit(record) for those since `from`, oldest first, until one gives
  // true; whether one did.
  template <class Visit>
  bool any_since(Position from, Visit visit) const {
    for (size_t i = from; i < records_.size(); ++i)
      if (visit(records_[i])) return true;
    return false;
  }

  void rollback(Position to) {
    MG_CHECK(to <= records_.size(), "a checkpoint must lie in the past");
    while (records_.size() > to) {
      Record record = records_.back();
      records_.pop_back();
      record.store->undo(record.a, record.b);
    }
  }

 private:
  std::vector<Record> records_;
};

}  // namespace magneto
