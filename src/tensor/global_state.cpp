// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/global_state.h"

#include <ATen/ThreadLocalState.h>

namespace magneto::tensor {

struct GlobalStateScope::State {
  at::ThreadLocalState saved;
};

GlobalStateScope::GlobalStateScope() : state_(std::make_unique<State>()) {}

GlobalStateScope::~GlobalStateScope() {
  at::ThreadLocalState::setThreadLocalState(state_->saved);
}

}  // namespace magneto::tensor
