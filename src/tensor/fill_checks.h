// SPDX-License-Identifier: BSD-3-Clause
// What masked_fill and masked_fill_ ask of their arguments.
#pragma once

#include "tensor/rule.h"

namespace magneto::tensor {

inline void check_fill_mask(const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_fill_ only supports boolean masks, but got mask with "
              "dtype ",
              mask.scalar_type());
}

inline void check_fill_value(const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but "
              "got tensor with ",
              value.dim(), " dimension(s).");
}

}  // namespace magneto::tensor
