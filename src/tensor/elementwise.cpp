// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/elementwise.h"

#include <ATen/native/TypeProperties.h>

#include "tensor/shape.h"

namespace magneto::tensor {

c10::ScalarType promoted_type(c10::ArrayRef<at::Tensor> tensors) {
  c10::ScalarType first = tensors[0].scalar_type();
  bool same = true;
  for (const at::Tensor& tensor : tensors) {
    same = same && tensor.scalar_type() == first;
  }
  if (same) return first;
  at::native::ResultTypeState state;
  for (const at::Tensor& tensor : tensors) {
    state = at::native::update_result_type_state(tensor, state);
  }
  return at::native::result_type(state);
}

c10::ScalarType promoted_type(const at::Tensor& tensor,
                              const c10::Scalar& scalar) {
  at::native::ResultTypeState state;
  state = at::native::update_result_type_state(tensor, state);
  state = at::native::update_result_type_state(scalar, state);
  return at::native::result_type(state);
}

c10::ScalarType float_type(c10::ScalarType type) {
  return c10::isIntegralType(type, /*includeBool=*/true)
             ? c10::typeMetaToScalarType(c10::get_default_dtype())
             : type;
}

c10::Device common_device(c10::ArrayRef<at::Tensor> tensors) {
  c10::Device common = tensors[0].device();
  bool found = false;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    c10::Device device = tensor.device();
    if (device.is_cpu() && tensor.dim() == 0) continue;
    if (!found) {
      common = device;
      found = true;
    }
    TORCH_CHECK(common == device,
                "Expected all tensors to be on the same device, but found at "
                "least two devices, ",
                common, " and ", device, "!");
  }
  return common;
}

at::Tensor elementwise(c10::ArrayRef<at::Tensor> operands,
                       c10::ScalarType computation, c10::ScalarType output) {
  c10::Device device = common_device(operands);
  c10::SmallVector<DimVec, 4> temporaries;
  temporaries.reserve(operands.size());
  c10::SmallVector<Operand, 4> views;
  DimList shape = operands[0].sym_sizes();
  DimVec broadcasted;
  for (const at::Tensor& tensor : operands) {
    bool copied = device.is_cpu() &&
                  computation != c10::ScalarType::Undefined &&
                  tensor.scalar_type() != computation;
    if (copied) {
      temporaries.push_back(preserved_strides(tensor));
      views.emplace_back(tensor, temporaries.back());
    } else {
      views.emplace_back(tensor);
    }
    if (!tensor.sym_sizes().equals(shape)) {
      broadcasted = broadcast(shape, tensor.sym_sizes());
      shape = broadcasted;
    }
  }
  return make_tensor(shape, elementwise_strides(views, shape), output, device);
}

}  // namespace magneto::tensor
