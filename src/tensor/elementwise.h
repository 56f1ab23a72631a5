// SPDX-License-Identifier: BSD-3-Clause
// What all elementwise operators share: dtype promotion, broadcasting, the
// common device, and the output's strides.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>
#include <c10/core/Scalar.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include "tensor/fake_impl.h"

namespace magneto::tensor {

using TensorVec = c10::SmallVector<at::Tensor, 4>;

// The dtype that torch.result_type() gives for what was added.
class PromotedType {
 public:
  void add(const at::Tensor& tensor);
  void add(const c10::Scalar& number);
  c10::ScalarType type() const;

 private:
  // While all tensors have one dtype and there is no number, that is it.
  c10::ScalarType only_ = c10::ScalarType::Undefined;
  bool mixed_ = false;
  at::native::ResultTypeState state_;
};
c10::ScalarType promoted_type(c10::ArrayRef<at::Tensor> tensors);
// Integers and bools become the default dtype; others stay.
c10::ScalarType float_type(c10::ScalarType type);

// The device of the result: that of the tensors, CPU scalars aside. Raises
// where they are on different ones.
c10::Device common_device(c10::ArrayRef<at::Tensor> tensors);

// The fresh output of an elementwise operator. `computation` is the dtype that
// operands are converted to first, or Undefined where each is read as it is;
// on the CPU that conversion makes dense copies, whose strides then count. The
// first `unconverted` operands are always read as they are.
at::Tensor elementwise(c10::ArrayRef<at::Tensor> operands,
                       c10::ScalarType computation, c10::ScalarType output,
                       size_t unconverted = 0);

}  // namespace magneto::tensor
