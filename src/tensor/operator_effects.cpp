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

void OperatorEffects::note_storage(const at::Tensor& tensor) {
  note_write();
  if (tensor.has_storage())
    written.insert(
        reinterpret_cast<uintptr_t>(tensor.storage().unsafeGetStorageImpl()));
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
