// SPDX-License-Identifier: BSD-3-Clause
// The journal: one list of undo records for everything that can change while
// tracing. A checkpoint is a position in it; rollback undoes back to it, newest
// first, in time proportional to what changed.
//
// A store that wants its writes undone derives from Journaled and calls
// Journal::record(this, a, b) with two words that its undo() understands;
// state that doesn't fit two words is kept by the store itself, as a stack that
// undo() pops (records are undone in exactly the reverse order of recording).
#pragma once

#include <cstdint>
#include <vector>

#include "support/check.h"

namespace magneto {

class Journaled {
 public:
  virtual void undo(uint64_t a, uint64_t b) noexcept = 0;

 protected:
  ~Journaled() = default;
};

class Journal {
 public:
  using Position = size_t;

  void record(Journaled* store, uint64_t a = 0, uint64_t b = 0) {
    records_.push_back({store, a, b});
  }
  Position position() const { return records_.size(); }

  void rollback(Position to) {
    MG_CHECK(to <= records_.size(), "a checkpoint must lie in the past");
    while (records_.size() > to) {
      Record record = records_.back();
      records_.pop_back();
      record.store->undo(record.a, record.b);
    }
  }

 private:
  struct Record {
    Journaled* store;
    uint64_t a;
    uint64_t b;
  };
  std::vector<Record> records_;
};

}  // namespace magneto
