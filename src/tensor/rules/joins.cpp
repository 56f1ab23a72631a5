// SPDX-License-Identifier: BSD-3-Clause
// Tensors side by side, on a diagonal, or with something around them.
#include <ATen/TensorUtils.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/cat.h>

#include "tensor/elementwise.h"
#include "tensor/partial_rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"
#include "tensor/view_shape.h"

namespace magneto::tensor {
namespace {

at::Tensor as_view(const at::Tensor& self, const ViewShape& shape) {
  return make_view(self, shape.sizes, shape.strides, shape.offset);
}

// Where the new dimension isn't the last, torch concatenates along the one that
// it precedes, and divides that one.
MaybeTensor stacked(at::TensorList tensors, int64_t dim) {
  if (tensors.empty()) return std::nullopt;
  const at::Tensor& first = tensors[0];
  const int64_t ndim = first.dim();
  if (dim < -ndim - 1 || dim > ndim) return std::nullopt;
  if (dim < 0) dim += ndim + 1;
  for (const at::Tensor& tensor : tensors)
    if (!must_be(tensor.sym_sizes(), first.sym_sizes())) return std::nullopt;
  std::vector<at::Tensor> parts(tensors.begin(), tensors.end());
  if (dim == ndim) {
    for (at::Tensor& part : parts) part = as_view(part, unsqueezed(part, dim));
    return at::cat(parts, dim);
  }
  if (is_empty(first.sym_sizes())) return std::nullopt;
  at::Tensor joined = at::cat(parts, dim);
  DimVec sizes(joined.sym_sizes().begin(), joined.sym_sizes().end());
  sizes[dim] = first.sym_size(dim);
  sizes.insert(sizes.begin() + dim, Dim(static_cast<int64_t>(tensors.size())));
  const c10::ScalarType type = joined.scalar_type();
  DimVec plain = contiguous_strides(joined.sym_sizes());
  if (are_equal(joined.sym_strides(), plain))
    return make_contiguous(sizes, type, joined.device());
  // What a dimension of one gets for a stride depends on those around it.
  auto strides =
      at::detail::computeStride(joined.sym_sizes(), joined.sym_strides(),
                                c10::SymDimVector(sizes.begin(), sizes.end()));
  if (!strides) return std::nullopt;
  return make_tensor(sizes, *strides, type, joined.device());
}

// `padding` is (before, after) from the last dimension backwards; negative
// numbers cut off.
MaybeTensor padded(const at::Tensor& self, DimList padding,
                   const c10::Scalar&) {
  const size_t count = padding.size() / 2, ndim = self.dim();
  if (padding.size() % 2 != 0 || count > ndim) return std::nullopt;
  ViewShape shape(self);
  // Of what lies in order, both kinds of result do.
  const bool in_order = self.is_contiguous_or_false();
  bool only_cuts = !in_order;
  for (size_t i = 0; i < count; ++i) {
    const Dim &before = padding[2 * i], &after = padding[2 * i + 1];
    Dim& size = shape.sizes[ndim - 1 - i];
    if (only_cuts && (before > 0 || after > 0)) only_cuts = false;
    size += before + after;
    if (!must_hold(size.sym_ge(0))) return std::nullopt;
  }
  c10::MemoryFormat format = self.suggest_memory_format();
  DimVec strides = only_cuts ? preserved_strides(as_view(self, shape))
                             : format_strides(shape.sizes, format);
  return make_tensor(shape.sizes, strides, self.scalar_type(), self.device());
}

// Vectors along the diagonal of two new dimensions.
MaybeTensor on_diagonals(const at::Tensor& self, int64_t offset, int64_t dim1,
                         int64_t dim2) {
  const int64_t ndim = self.dim() + 1;
  if (ndim < 2 || dim1 < -ndim || dim1 >= ndim || dim2 < -ndim ||
      dim2 >= ndim) {
    return std::nullopt;
  }
  dim1 = wrap_dim(dim1, ndim);
  dim2 = wrap_dim(dim2, ndim);
  if (dim1 == dim2) return std::nullopt;
  Dim length = self.sym_size(-1) + std::abs(offset);
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end() - 1);
  sizes.insert(sizes.begin() + std::min(dim1, dim2), length);
  sizes.insert(sizes.begin() + std::max(dim1, dim2), length);
  return make_contiguous(sizes, self.scalar_type(), self.device());
}

MaybeTensor blocks_on_diagonal(at::TensorList tensors) {
  if (tensors.empty()) return std::nullopt;
  DimVec sizes{Dim(0), Dim(0)};
  for (const at::Tensor& tensor : tensors) {
    const int64_t ndim = tensor.dim();
    if (ndim > 2 || tensor.device() != tensors[0].device()) return std::nullopt;
    sizes[0] += ndim == 2 ? tensor.sym_size(0) : Dim(1);
    sizes[1] += ndim == 0 ? Dim(1) : tensor.sym_size(-1);
  }
  return make_contiguous(sizes, at::native::result_type(tensors),
                         tensors[0].device());
}

constexpr auto kComposite = Otherwise::Composite;

constexpr Rule kRules[] = {
    attempt<"aten::stack", &stacked, kComposite>(),
    attempt<"aten::constant_pad_nd", &padded, kComposite>(),
    attempt<"aten::diag_embed", &on_diagonals, kComposite>(),
    attempt<"aten::block_diag", &blocks_on_diagonal, kComposite>(),
};

}  // namespace

std::span<const Rule> join_rules() { return kRules; }

}  // namespace magneto::tensor
