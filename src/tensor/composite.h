// SPDX-License-Identifier: BSD-3-Clause
// Torch's composite kernels: operators in terms of others.
#pragma once

#include <ATen/core/stack.h>

#include "tensor/op_info.h"

namespace magneto::tensor {

// Runs the kernel that `op` has for `key` on the arguments on the stack. What
// it makes on the way is fake as well. A kernel that takes plain numbers only
// gets those of the call that is traced, which a guard then asks for.
void run_composite_kernel(const OpInfo& op, c10::DispatchKey key,
                          torch::jit::Stack& stack);

// An argument without symbols in it.
c10::IValue with_plain_numbers(const c10::IValue& value);

}  // namespace magneto::tensor
