// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/global_state.h"

#include <ATen/SavedTensorHooks.h>
#include <ATen/ThreadLocalState.h>

#include "tensor/ambient.h"
#include "tensor/attention_kernels.h"

namespace magneto::tensor {

struct GlobalStateScope::State {
  at::ThreadLocalState saved;
  AutocastScope autocast;  // not part of the above
  uint64_t attention = attention_kernels();
  bool has_forward_level = forward_level_state() != 0;  // of all threads
};

GlobalStateScope::GlobalStateScope() : state_(std::make_unique<State>()) {
  // What the program does with tensors that are saved for the backward pass, it
  // does with real ones.
  at::SavedTensorDefaultHooks::set_tracing(true);
}

GlobalStateScope::~GlobalStateScope() {
  at::ThreadLocalState::setThreadLocalState(state_->saved);
  if (!state_->has_forward_level) leave_forward_level();
  if (attention_kernels() != state_->attention)
    set_attention_kernels(state_->attention);
}

}  // namespace magneto::tensor
