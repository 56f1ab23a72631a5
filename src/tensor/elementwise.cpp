// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/elementwise.h"

#include "tensor/shape.h"

namespace magneto::tensor {

void PromotedType::add(const at::Tensor& tensor) {
  c10::ScalarType type = tensor.scalar_type();
  if (only_ == c10::ScalarType::Undefined) {
    only_ = type;
  } else if (only_ != type) {
    mixed_ = true;
  }
  state_ = at::native::update_result_type_state(tensor, state_);
}

void PromotedType::add(const c10::Scalar& number) {
  mixed_ = true;
  state_ = at::native::update_result_type_state(number, state_);
}

c10::ScalarType PromotedType::type() const {
  return mixed_ ? at::native::result_type(state_) : only_;
}

c10::ScalarType promoted_type(c10::ArrayRef<at::Tensor> tensors) {
  PromotedType common;
  for (const at::Tensor& tensor : tensors) common.add(tensor);
  return common.type();
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
                       c10::ScalarType computation, c10::ScalarType output,
                       size_t unconverted) {
  c10::Device device = common_device(operands);
  c10::SmallVector<DimVec, 4> temporaries;
  temporaries.reserve(operands.size());
  c10::SmallVector<ElementwiseOperand, 4> views;
  DimList shape = operands[0].sym_sizes();
  DimVec broadcasted;
  for (size_t i = 0; i < operands.size(); ++i) {
    const at::Tensor& tensor = operands[i];
    bool copied = i >= unconverted && device.is_cpu() &&
                  computation != c10::ScalarType::Undefined &&
                  tensor.scalar_type() != computation;
    if (copied) {
      temporaries.push_back(preserved_strides(tensor));
      views.emplace_back(tensor, temporaries.back());
    } else {
      views.emplace_back(tensor);
    }
    if (!are_equal(tensor.sym_sizes(), shape)) {
      broadcasted = broadcast(shape, tensor.sym_sizes());
      shape = broadcasted;
    }
  }
  return make_tensor(shape, elementwise_strides(views, shape), output, device);
}

}  // namespace magneto::tensor
