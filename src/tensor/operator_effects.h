// SPDX-License-Identifier: BSD-3-Clause
// What operators do that no result tells, nor always the version of a tensor:
// they draw random numbers, they fail for what a tensor holds, they write to
// memory that others have too, such as Tensor.data. Who wants to run a call
// twice must know.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>

namespace at {
class Tensor;
}

namespace magneto::tensor {

// Of the calls on fakes of this thread since somebody has emptied it.
struct OperatorEffects {
  uint64_t draws = 0;
  bool uses_accelerator = false;          // some tensor is on one
  std::unordered_set<uintptr_t> written;  // storages: see storage_id()
  // The number of the call that is run, which its caller sets, and of the first
  // one that has written to a tensor.
  size_t call = 0;
  std::optional<size_t> first_write;
  // Whether numbers or sizes have come out of data: what gets them may fail.
  bool has_data_numbers = false;
  // Whether a call may fail, for its data, when others have written already.
  bool may_fail_behind_write = false;

  void note_write() { first_write = first_write.value_or(call); }
  void note_storage(const at::Tensor& tensor);  // that is written, if any is
  void may_fail() { may_fail_behind_write |= first_write.has_value(); }
};
OperatorEffects& operator_effects() noexcept;

// The state of random numbers, to be gone back to: the CPU's, and those of
// accelerators if they are asked for.
using RandomState = std::shared_ptr<const void>;
RandomState random_state(bool of_accelerators);
void restore(const RandomState& state) noexcept;

}  // namespace magneto::tensor
