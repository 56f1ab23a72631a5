// SPDX-License-Identifier: BSD-3-Clause
// Results of a functional rule, written into the arguments of the in-place or
// out= operator that was called.
#pragma once

#include "tensor/op_info.h"

namespace magneto::tensor {

// Replaces `outputs` by the operator's own results, after the checks and the
// resizing that torch does.
void deliver(const OpInfo& op, c10::IValue* args, Outputs& outputs);

// Gives an out= tensor new sizes and strides, growing its storage as needed.
void resize_tensor(const at::Tensor& tensor, DimList sizes, DimList strides);

}  // namespace magneto::tensor
