// SPDX-License-Identifier: BSD-3-Clause
// The last resort for an operator: PyTorch's own FakeTensorMode, in Python, on
// copies of the arguments.
#pragma once

#include <ATen/core/stack.h>

#include "tensor/op_info.h"

namespace magneto::tensor {

// Replaces the operator's arguments on the stack by its results, and counts the
// call. Takes the GIL. Raises needs_data_error() where FakeTensorMode has no
// answer either.
void run_in_python(const OpInfo& op, torch::jit::Stack& stack);

}  // namespace magneto::tensor
