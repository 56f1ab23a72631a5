// SPDX-License-Identifier: BSD-3-Clause
// What operators do that no result tells, nor always the version of a tensor:
// they draw random numbers, they fail for what a tensor holds, they write to
// memory that other tensors share, such as Tensor.data. Whoever runs a call
// twice must know of these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/journal.h"

namespace at {
class Tensor;
}

namespace magneto::tensor {

// Of the calls on fakes of this thread since a trace began, without those
// that a rollback has taken back.
class OperatorEffects final : public UnseenJournaled {
 public:
  // A trace begins: nothing has been called.
  void begin();
  // Where undo records go from here on; null: nowhere.
  void attach(Journal* journal) { journal_ = journal; }

  bool draws() const { return now_.draws; }
  bool uses_accelerator() const { return now_.uses_accelerator; }
  // Whether numbers or sizes have come out of data: what gets them may fail.
  bool has_data_numbers() const { return now_.has_data_numbers; }
  // Whether a call may fail, for its data, when others have written already.
  bool may_fail_behind_write() const { return now_.may_fail_behind_write; }
  // The number of the first call that has written to a tensor, as set_call()
  // was told.
  std::optional<size_t> first_write() const { return now_.first_write; }
  // Storages that were written to: see storage_id().
  bool is_written(uintptr_t storage) const {
    return written_.contains(storage);
  }

  // The call of the root graph that is made next, or that has it in a body.
  void set_call(size_t number) { call_ = number; }
  void note_draw() { set(&Flags::draws); }
  void note_accelerator() { set(&Flags::uses_accelerator); }
  void note_data_number() { set(&Flags::has_data_numbers); }
  void note_write();
  void note_storage(uintptr_t storage);
  void note_storage(const at::Tensor& tensor);  // that is written, if any is
  void may_fail() {
    if (now_.first_write) set(&Flags::may_fail_behind_write);
  }

  std::string dump() const;

  void undo(uint64_t what, uint64_t storage) noexcept override;

 private:
  enum What : uint64_t { kFlags, kStorage };
  struct Flags {
    bool draws = false;
    bool uses_accelerator = false;
    bool has_data_numbers = false;
    bool may_fail_behind_write = false;
    std::optional<size_t> first_write;
  };
  void save();
  void set(bool Flags::*flag) {
    if (now_.*flag) return;
    save();
    now_.*flag = true;
  }

  Journal* journal_ = nullptr;
  size_t call_ = 0;
  Flags now_;
  std::vector<Flags> before_;  // for undo()
  std::unordered_set<uintptr_t> written_;
};
OperatorEffects& operator_effects() noexcept;

// The state of random numbers, to be gone back to: the CPU's, and those of
// accelerators if they are asked for.
using RandomState = std::shared_ptr<const void>;
RandomState random_state(bool of_accelerators);
void restore(const RandomState& state) noexcept;

}  // namespace magneto::tensor
