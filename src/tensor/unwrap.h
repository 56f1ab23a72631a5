// SPDX-License-Identifier: BSD-3-Clause
// From Python objects to tensors without counting references.
#pragma once

#include <torch/csrc/autograd/python_variable.h>

namespace magneto::tensor {

// `object` must be a tensor; the reference lives as long as it.
inline const at::Tensor& tensor_of(PyObject* object) {
  return THPVariable_Unpack(object);
}
inline c10::TensorImpl* impl_of(PyObject* object) {
  return tensor_of(object).unsafeGetTensorImpl();
}

}  // namespace magneto::tensor
