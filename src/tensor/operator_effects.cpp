// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/operator_effects.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/core/Tensor.h>

#include <mutex>
#include <utility>
#include <vector>

namespace magneto::tensor {

OperatorEffects& operator_effects() noexcept {
  thread_local OperatorEffects effects;
  return effects;
}

void OperatorEffects::begin() {
  journal_ = nullptr;
  call_ = 0;
  now_ = {};
  before_.clear();
  written_.clear();
}

void OperatorEffects::save() {
  if (!journal_) return;
  before_.push_back(now_);
  journal_->record(this, kFlags);
}

void OperatorEffects::note_write() {
  if (now_.first_write) return;
  save();
  now_.first_write = call_;
}

void OperatorEffects::note_storage(uintptr_t storage) {
  note_write();
  if (written_.insert(storage).second && journal_)
    journal_->record(this, kStorage, storage);
}

void OperatorEffects::note_storage(const at::Tensor& tensor) {
  if (tensor.has_storage())
    note_storage(
        reinterpret_cast<uintptr_t>(tensor.storage().unsafeGetStorageImpl()));
  else
    note_write();
}

std::string OperatorEffects::dump() const {
  return std::to_string(now_.draws) + std::to_string(now_.uses_accelerator) +
         std::to_string(now_.has_data_numbers) +
         std::to_string(now_.may_fail_behind_write) + " first write " +
         (now_.first_write ? std::to_string(*now_.first_write) : "none") +
         ", storages " + std::to_string(written_.size());
}

void OperatorEffects::undo(uint64_t what, uint64_t storage) noexcept {
  if (what == kStorage) {
    written_.erase(storage);
    return;
  }
  now_ = before_.back();
  before_.pop_back();
}

namespace {

struct GeneratorState {
  explicit GeneratorState(at::Generator of) : generator(std::move(of)) {
    const std::scoped_lock lock(generator.mutex());
    state = generator.get_state();
  }

  at::Generator generator;
  at::Tensor state;
};

using GeneratorStates = std::vector<GeneratorState>;

// Of the devices that this process has used.
void add_accelerators(GeneratorStates& states) {
  const auto accelerator = at::getAccelerator();
  if (!accelerator) return;
  const at::AcceleratorHooksInterface& hooks =
      at::globalContext().getAcceleratorHooksInterface(accelerator);
  for (c10::DeviceIndex i = 0; i < hooks.deviceCount(); ++i)
    if (hooks.hasPrimaryContext(i))
      states.emplace_back(hooks.getDefaultGenerator(i));
}

}  // namespace

RandomState random_state(bool of_accelerators) {
  auto states = std::make_shared<GeneratorStates>();
  states->emplace_back(at::detail::getDefaultCPUGenerator());
  try {
    if (of_accelerators) add_accelerators(*states);
  } catch (const c10::Error&) {
    // What is captured as a CUDA graph can't ask. It can't fail for what a
    // tensor holds, either.
    states->erase(states->begin() + 1, states->end());
  }
  return states;
}

void restore(const RandomState& state) noexcept {
  for (const auto& [generator, kept] :
       *static_cast<const GeneratorStates*>(state.get())) {
    at::Generator each = generator;
    const std::scoped_lock lock(each.mutex());
    each.set_state(kept);
  }
}

}  // namespace magneto::tensor
