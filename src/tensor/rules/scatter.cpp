// SPDX-License-Identifier: BSD-3-Clause
// Writing elements to places given by an index, or a part to its place: the
// forms that give a new tensor.
#include <ATen/ops/slice.h>

#include "tensor/partial_rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"
#include "tensor/view_shape.h"

namespace magneto::tensor {
namespace {

using c10::Scalar;

bool is_index(const at::Tensor& index) {
  return index.scalar_type() == at::kLong || index.scalar_type() == at::kInt;
}

bool is_dim(const at::Tensor& self, int64_t dim) {
  const int64_t ndim = std::max<int64_t>(self.dim(), 1);
  return dim >= -ndim && dim < ndim;
}

at::Tensor like(const at::Tensor& self) {
  return make_contiguous(self.sym_sizes(), self.scalar_type(), self.device());
}

// Whether the index stays within what it writes to and what it takes from.
bool fits(const at::Tensor& self, int64_t dim, const at::Tensor& index,
          const at::Tensor* source) {
  if (!is_dim(self, dim) || !is_index(index) || index.dim() != self.dim() ||
      self.dim() == 0 || index.device() != self.device()) {
    return false;
  }
  dim = wrap_dim(dim, self.dim());
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != dim && !must_hold(index.sym_size(i).sym_le(self.sym_size(i))))
      return false;
  if (!source) return true;
  if (source->dim() != self.dim() || source->device() != self.device() ||
      source->scalar_type() != self.scalar_type()) {
    return false;
  }
  for (int64_t i = 0; i < self.dim(); ++i)
    if (!must_hold(index.sym_size(i).sym_le(source->sym_size(i)))) return false;
  return true;
}

bool is_known_reduction(std::string_view reduce) {
  return reduce == "add" || reduce == "multiply";
}

MaybeTensor scattered(const at::Tensor& self, int64_t dim,
                      const at::Tensor& index, const at::Tensor& source) {
  if (!fits(self, dim, index, &source)) return std::nullopt;
  return like(self);
}
MaybeTensor scattered_number(const at::Tensor& self, int64_t dim,
                             const at::Tensor& index, const Scalar&) {
  if (!fits(self, dim, index, nullptr)) return std::nullopt;
  return like(self);
}
MaybeTensor scatter_with(const at::Tensor& self, int64_t dim,
                         const at::Tensor& index, const at::Tensor& source,
                         std::string_view reduce) {
  if (!is_known_reduction(reduce)) return std::nullopt;
  return scattered(self, dim, index, source);
}
MaybeTensor scatter_number_with(const at::Tensor& self, int64_t dim,
                                const at::Tensor& index, const Scalar& value,
                                std::string_view reduce) {
  if (!is_known_reduction(reduce)) return std::nullopt;
  return scattered_number(self, dim, index, value);
}
MaybeTensor scatter_reduce(const at::Tensor& self, int64_t dim,
                           const at::Tensor& index, const at::Tensor& source,
                           std::string_view reduce, bool) {
  for (std::string_view known : {"sum", "prod", "mean", "amax", "amin"})
    if (reduce == known) return scattered(self, dim, index, source);
  return std::nullopt;
}

// ---- Whole slices ----------------------------------------------------------

// `source` has one slice for each element of the index.
MaybeTensor index_write(const at::Tensor& self, int64_t dim,
                        const at::Tensor& index, const at::Tensor& source) {
  if (!is_dim(self, dim) || self.dim() == 0 || index.dim() > 1 ||
      !is_index(index) || source.dim() != self.dim() ||
      source.scalar_type() != self.scalar_type() ||
      source.device() != self.device() || index.device() != self.device()) {
    return std::nullopt;
  }
  dim = wrap_dim(dim, self.dim());
  for (int64_t i = 0; i < self.dim(); ++i) {
    Dim wanted = i == dim ? index.sym_numel() : self.sym_size(i);
    if (!must_hold(source.sym_size(i).sym_eq(wanted))) return std::nullopt;
  }
  return like(self);
}
MaybeTensor index_add(const at::Tensor& self, int64_t dim,
                      const at::Tensor& index, const at::Tensor& source,
                      const Scalar&) {
  return index_write(self, dim, index, source);
}
MaybeTensor index_copy(const at::Tensor& self, int64_t dim,
                       const at::Tensor& index, const at::Tensor& source) {
  if (index.scalar_type() != at::kLong) return std::nullopt;
  return index_write(self, dim, index, source);
}
MaybeTensor index_reduce(const at::Tensor& self, int64_t dim,
                         const at::Tensor& index, const at::Tensor& source,
                         std::string_view reduce, bool) {
  for (std::string_view known : {"prod", "mean", "amax", "amin"})
    if (reduce == known) return index_write(self, dim, index, source);
  return std::nullopt;
}

// ---- Parts -----------------------------------------------------------------

// A copy of the whole storage that `self` lies in, seen as `self` sees its own.
MaybeTensor copy_with_storage(const at::Tensor& self) {
  if (!is_dense(self)) return std::nullopt;
  Dim bytes = self.unsafeGetTensorImpl()->unsafe_storage().sym_nbytes();
  at::Tensor whole =
      make_contiguous(DimVec{bytes / static_cast<int64_t>(self.itemsize())},
                      self.scalar_type(), self.device());
  return make_view(whole, self.sym_sizes(), self.sym_strides(),
                   self.sym_storage_offset());
}

bool same_sizes(const at::Tensor& source, DimList sizes) {
  return source.sym_sizes().equals(sizes);
}

MaybeTensor select_scatter(const at::Tensor& self, const at::Tensor& source,
                           int64_t dim, Dim index) {
  if (!is_dim(self, dim) || self.dim() == 0 ||
      source.device() != self.device()) {
    return std::nullopt;
  }
  dim = wrap_dim(dim, self.dim());
  Dim size = self.sym_size(dim);
  if (index >= size || index < -size) return std::nullopt;
  ViewShape part(self);
  part.erase(dim);
  if (!same_sizes(source, part.sizes)) return std::nullopt;
  return copy_with_storage(self);
}

MaybeTensor slice_scatter(const at::Tensor& self, const at::Tensor& source,
                          int64_t dim, std::optional<Dim> start,
                          std::optional<Dim> end, Dim step) {
  if (source.device() != self.device()) return std::nullopt;
  at::Tensor part = at::slice_symint(self, dim, start, end, step);
  if (!same_sizes(source, part.sym_sizes())) return std::nullopt;
  return copy_with_storage(self);
}

MaybeTensor diagonal_scatter(const at::Tensor& self, const at::Tensor& source,
                             int64_t offset, int64_t dim1, int64_t dim2) {
  if (!is_dim(self, dim1) || !is_dim(self, dim2) || self.dim() < 2 ||
      source.device() != self.device()) {
    return std::nullopt;
  }
  dim1 = wrap_dim(dim1, self.dim());
  dim2 = wrap_dim(dim2, self.dim());
  if (dim1 == dim2) return std::nullopt;
  Dim rows = self.sym_size(dim1), columns = self.sym_size(dim2);
  if (offset < 0)
    rows += offset;
  else
    columns = columns - offset;
  ViewShape part(self);
  part.erase(std::max(dim1, dim2));
  part.erase(std::min(dim1, dim2));
  part.sizes.push_back(rows.min(columns).max(0));
  if (!same_sizes(source, part.sizes)) return std::nullopt;
  return copy_with_storage(self);
}

// ---- Sums, means and maxima of rows that indices name -----------------------

using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

std::optional<FourTensors> embedding_bag(
    const at::Tensor& weight, const at::Tensor& indices,
    const at::Tensor& offsets, bool, int64_t mode, bool,
    const std::optional<at::Tensor>& sample_weights, bool include_last_offset,
    int64_t padding) {
  constexpr int64_t kSum = 0, kMax = 2;
  if (weight.dim() != 2 || indices.dim() != 1 || offsets.dim() != 1 ||
      !weight.is_cpu() || include_last_offset || mode < kSum || mode > kMax ||
      (sample_weights && sample_weights->defined()) ||
      !weight.is_contiguous_or_false() ||
      indices.scalar_type() != offsets.scalar_type()) {
    return std::nullopt;
  }
  Dim bags = offsets.sym_size(0), width = weight.sym_size(1);
  if (weight.sym_size(0) == 0 || width <= 1) return std::nullopt;
  auto numbers = [&](DimList sizes) {
    return make_contiguous(sizes, offsets.scalar_type(), offsets.device());
  };
  const bool is_fast = mode == kSum && padding < 0 &&
                       (weight.scalar_type() == at::kFloat ||
                        weight.scalar_type() == at::kHalf ||
                        weight.scalar_type() == at::kBFloat16);
  return FourTensors{
      make_contiguous(DimVec{bags, width}, weight.scalar_type(),
                      weight.device()),
      numbers(DimVec{is_fast ? Dim(0) : indices.sym_size(0)}),
      numbers(DimVec{bags}),
      numbers(mode == kMax ? DimVec{bags, width} : DimVec{bags})};
}

constexpr auto kComposite = Otherwise::Composite;
constexpr auto kPython = Otherwise::Python;

constexpr Rule kRules[] = {
    attempt<"aten::scatter.src", &scattered>(),
    attempt<"aten::scatter.value", &scattered_number>(),
    attempt<"aten::scatter.reduce", &scatter_with>(),
    attempt<"aten::scatter.value_reduce", &scatter_number_with>(),
    attempt<"aten::scatter_add", &scattered>(),
    attempt<"aten::scatter_reduce.two", &scatter_reduce>(),
    attempt<"aten::index_add", &index_add>(),
    attempt<"aten::index_copy", &index_copy>(),
    attempt<"aten::index_reduce", &index_reduce>(),
    attempt<"aten::select_scatter", &select_scatter, kComposite>(),
    attempt<"aten::slice_scatter", &slice_scatter, kComposite>(),
    attempt<"aten::diagonal_scatter", &diagonal_scatter, kComposite>(),
    attempt<"aten::_embedding_bag", &embedding_bag, kPython>(),
    attempt<"aten::_embedding_bag_forward_only", &embedding_bag, kPython>(),
};

}  // namespace

std::span<const Rule> scatter_rules() { return kRules; }

}  // namespace magneto::tensor
