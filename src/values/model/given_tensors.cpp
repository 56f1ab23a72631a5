// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/given_tensors.h"

#include <algorithm>
#include <utility>

#include "tensor/fake_tensor.h"
#include "tensor/operator_effects.h"

namespace magneto::values {

namespace {

// What a record of the journal is about: a tensor that was added, or else what
// is compared of the tensor with this number.
constexpr uint64_t kAdded = ~uint64_t{0};

bool has_new_version(V value) {
  return tensor::version(fake_of(value)) != tensor::version(value->object);
}

}  // namespace

void GivenTensors::add(V tensor,
                       std::shared_ptr<tensor::TensorSnapshot> snapshot) {
  tensors_.push_back({tensor, std::move(snapshot)});
  journal_.record(this, kAdded);
}

bool GivenTensors::guard_history(V tensor) {
  const auto given = std::ranges::find(tensors_, tensor, &Given::tensor);
  if (given == tensors_.end() || !given->snapshot->requires_grad) return false;
  const auto index = static_cast<uint64_t>(given - tensors_.begin());
  journal_.record(this, index, given->snapshot->extra);
  given->snapshot->extra |= tensor::TensorSnapshot::kHistory;
  return true;
}

bool GivenTensors::has_memory_of(V tensor) const {
  return std::ranges::any_of(tensors_, [&](const Given& given) {
    return tensor::shares_storage(fake_of(given.tensor), fake_of(tensor));
  });
}

void GivenTensors::guard_written_leaves() {
  for (const auto& [value, snapshot] : tensors_) {
    if (!has_new_version(value)) continue;
    if (snapshot->requires_grad)
      snapshot->extra |= tensor::TensorSnapshot::kHistory;
    if (tensor::requires_grad(fake_of(value)))
      snapshot->extra |= tensor::TensorSnapshot::kViewRule;
  }
}

void GivenTensors::guard_refusals() {
  const auto is_written = [](const Given& given) {
    return has_new_version(given.tensor) ||
           tensor::operator_effects().is_written(
               tensor::storage_id(fake_of(given.tensor)));
  };
  if (std::ranges::none_of(tensors_, is_written)) return;
  for (const Given& given : tensors_)
    given.snapshot->extra |= tensor::TensorSnapshot::kRefusal;
}

void GivenTensors::undo(uint64_t what, uint64_t extra) noexcept {
  if (what == kAdded)
    tensors_.pop_back();
  else
    tensors_[what].snapshot->extra = static_cast<uint8_t>(extra);
}

}  // namespace magneto::values
