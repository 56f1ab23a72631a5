// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/view_shape.h"

#include <ATen/WrapDimUtilsMulti.h>

#include "tensor/shape.h"

namespace magneto::tensor {

ViewShape transposed(const at::Tensor& self, int64_t dim0, int64_t dim1) {
  int64_t ndim = self.dim();
  dim0 = at::maybe_wrap_dim(dim0, ndim);
  dim1 = at::maybe_wrap_dim(dim1, ndim);
  ViewShape shape(self);
  if (dim0 != dim1) {
    std::swap(shape.sizes[dim0], shape.sizes[dim1]);
    std::swap(shape.strides[dim0], shape.strides[dim1]);
  }
  return shape;
}

ViewShape transposed_matrix(const at::Tensor& self) {
  TORCH_CHECK(self.dim() <= 2,
              "t() expects a tensor with <= 2 dimensions, but self is ",
              self.dim(), "D");
  return transposed(self, 0, self.dim() < 2 ? 0 : 1);
}

ViewShape unsqueezed(const at::Tensor& self, int64_t dim) {
  dim = at::maybe_wrap_dim(dim, self.dim() + 1);
  ViewShape shape(self);
  bool last = dim == self.dim();
  Dim stride = last ? Dim(1) : shape.sizes[dim] * shape.strides[dim];
  shape.sizes.insert(shape.sizes.begin() + dim, Dim(1));
  shape.strides.insert(shape.strides.begin() + dim, stride);
  return shape;
}

ViewShape squeezed(const at::Tensor& self) {
  ViewShape shape(self);
  for (int64_t dim = self.dim(); dim-- > 0;) {
    if (shape.sizes[dim] == 1) shape.erase(dim);
  }
  return shape;
}

ViewShape squeezed(const at::Tensor& self, c10::IntArrayRef dims) {
  int64_t ndim = self.dim();
  auto wanted = at::dim_list_to_bitset(dims, ndim);
  ViewShape shape(self);
  for (int64_t dim = ndim; dim-- > 0;) {
    if (wanted[dim] && shape.sizes[dim] == 1) shape.erase(dim);
  }
  return shape;
}

void check_in_storage(const at::Tensor& self, DimList sizes, DimList strides,
                      const Dim& offset) {
  for (const Dim& stride : strides) {
    TORCH_CHECK(stride >= 0,
                "as_strided: Negative strides are not supported at the moment, "
                "got strides: ",
                strides);
  }
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  Dim needed = numel(sizes) == 0
                   ? Dim(0)
                   : storage_bytes(sizes, strides, offset, self.itemsize());
  Dim there = self.unsafeGetTensorImpl()->unsafe_storage().sym_nbytes();
  TORCH_CHECK(needed <= there, "setStorage: sizes ", sizes, ", strides ",
              strides, ", storage offset ", offset, ", and itemsize ",
              self.itemsize(), " requiring a storage size of ", needed,
              " are out of bounds for storage of size ", there);
}

}  // namespace magneto::tensor
