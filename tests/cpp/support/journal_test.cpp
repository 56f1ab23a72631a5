// SPDX-License-Identifier: BSD-3-Clause
#include "support/journal.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace magneto {
namespace {

// A store of integers whose old values fit the two words of a record.
class Cells : public UnseenJournaled {
 public:
  Cells(Journal& journal, size_t count) : journal_(journal), cells_(count) {}

  void write(size_t index, uint64_t value) {
    journal_.record(this, index, cells_[index]);
    cells_[index] = value;
  }
  const std::vector<uint64_t>& dump() const { return cells_; }

  void undo(uint64_t index, uint64_t old) noexcept override {
    cells_[index] = old;
  }

 private:
  Journal& journal_;
  std::vector<uint64_t> cells_;
};

TEST(Journal, RollbackGivesBackTheStateOfTheCheckpoint) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Journal journal;
    Cells a(journal, 8), b(journal, 3);
    auto write_some = [&] {
      for (size_t n = random() % 40; n > 0; --n) {
        Cells& store = random() % 2 ? a : b;
        store.write(random() % store.dump().size(), random());
      }
    };
    write_some();
    const Journal::Position checkpoint = journal.position();
    const auto a_then = a.dump(), b_then = b.dump();
    write_some();
    journal.rollback(checkpoint);
    EXPECT_EQ(a.dump(), a_then);
    EXPECT_EQ(b.dump(), b_then);
    EXPECT_EQ(journal.position(), checkpoint);
  }
}

TEST(Journal, UndoesNewestFirst) {
  Journal journal;
  Cells cells(journal, 1);
  for (uint64_t value : {1, 2, 3}) cells.write(0, value);
  journal.rollback(1);
  EXPECT_EQ(cells.dump()[0], 1u);
  journal.rollback(0);
  EXPECT_EQ(cells.dump()[0], 0u);
}

TEST(Journal, RefusesACheckpointOfTheFuture) {
  Journal journal;
  EXPECT_THROW(journal.rollback(1), InternalError);
}

}  // namespace
}  // namespace magneto
