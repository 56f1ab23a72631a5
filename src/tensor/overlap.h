// SPDX-License-Identifier: BSD-3-Clause
// Writes to memory that a call meets twice: most kernels refuse them.
#pragma once

#include "tensor/op_info.h"

namespace magneto::tensor {

// Throws refused_error() where a tensor that the call writes to may not have
// two elements in one place, or share memory with another argument, but does.
// Says nothing of symbolic shapes.
void refuse_overlap(const OpInfo& op, const c10::IValue* args);

}  // namespace magneto::tensor
