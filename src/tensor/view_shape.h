// SPDX-License-Identifier: BSD-3-Clause
// Sizes, strides and offset of a view, for the view operators and for their
// in-place forms.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include "tensor/fake_impl.h"

namespace magneto::tensor {

struct ViewShape {
  explicit ViewShape(const at::Tensor& tensor)
      : sizes(tensor.sym_sizes().begin(), tensor.sym_sizes().end()),
        strides(tensor.sym_strides().begin(), tensor.sym_strides().end()),
        offset(tensor.sym_storage_offset()) {}

  void erase(int64_t dim) {
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
  }

  DimVec sizes;
  DimVec strides;
  Dim offset;
};

ViewShape transposed(const at::Tensor& self, int64_t dim0, int64_t dim1);
// What t() means: at most two dimensions, swapped.
ViewShape transposed_matrix(const at::Tensor& self);
ViewShape unsqueezed(const at::Tensor& self, int64_t dim);
ViewShape squeezed(const at::Tensor& self);
ViewShape squeezed(const at::Tensor& self, c10::IntArrayRef dims);

// Raises as torch does where a view would reach beyond its storage.
void check_in_storage(const at::Tensor& self, DimList sizes, DimList strides,
                      const Dim& offset);

}  // namespace magneto::tensor
