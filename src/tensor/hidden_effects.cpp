// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/hidden_effects.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>

#include <mutex>

namespace magneto::tensor {

HiddenEffects& hidden_effects() noexcept {
  thread_local HiddenEffects effects;
  return effects;
}

void HiddenEffects::note_storage(const at::Tensor& tensor) {
  note_write();
  if (tensor.has_storage())
    written.insert(
        reinterpret_cast<uintptr_t>(tensor.storage().unsafeGetStorageImpl()));
}

RandomState random_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  return std::make_shared<const at::Tensor>(generator.get_state());
}

void restore(const RandomState& state) noexcept {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(*static_cast<const at::Tensor*>(state.get()));
}

}  // namespace magneto::tensor
