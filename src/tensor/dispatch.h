// SPDX-License-Identifier: BSD-3-Clause
// What happens to an operator that is called with fake tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace magneto::tensor {

// A boxed kernel for any operator; see fake_key.h.
void run_on_fakes(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

}  // namespace magneto::tensor
