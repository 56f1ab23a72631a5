// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/global_state.h"

#include <ATen/ThreadLocalState.h>

#include "tensor/ambient.h"

namespace magneto::tensor {

struct GlobalStateScope::State {
  at::ThreadLocalState saved;
  AutocastScope autocast;  // not part of the above
};

GlobalStateScope::GlobalStateScope() : state_(std::make_unique<State>()) {}

GlobalStateScope::~GlobalStateScope() {
  at::ThreadLocalState::setThreadLocalState(state_->saved);
}

}  // namespace magneto::tensor
