// SPDX-License-Identifier: BSD-3-Clause
// Extremes along a dimension with their places, sorting, searching, and running
// totals. Their results are contiguous, but for sorting.
#include <ATen/WrapDimUtils.h>

#include "tensor/partial_rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using DimArg = std::optional<int64_t>;
using DtypeArg = std::optional<c10::ScalarType>;

bool is_dim(const at::Tensor& self, int64_t dim) {
  const int64_t ndim = std::max<int64_t>(self.dim(), 1);
  return dim >= -ndim && dim < ndim;
}

// A dimension along which elements can be compared.
bool is_ordered(const at::Tensor& self, int64_t dim) {
  return is_dim(self, dim) && !self.is_complex();
}

Dim size_along(const at::Tensor& self, int64_t dim) {
  return self.dim() == 0 ? Dim(1) : self.sym_size(dim);
}

DimVec without_dim(const at::Tensor& self, int64_t dim, bool keepdim) {
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  if (sizes.empty()) return sizes;
  dim = wrap_dim(dim, self.dim());
  if (keepdim)
    sizes[dim] = 1;
  else
    sizes.erase(sizes.begin() + dim);
  return sizes;
}

at::Tensor fresh(const at::Tensor& self, DimList sizes, c10::ScalarType dtype) {
  return make_contiguous(sizes, dtype, self.device());
}

// Something along a dimension, and where it stands.
std::optional<TwoTensors> with_places(const at::Tensor& self, int64_t dim,
                                      bool keepdim) {
  if (!is_ordered(self, dim) || is_empty({size_along(self, dim)}))
    return std::nullopt;
  DimVec sizes = without_dim(self, dim, keepdim);
  return TwoTensors{fresh(self, sizes, self.scalar_type()),
                    fresh(self, sizes, at::kLong)};
}

std::optional<TwoTensors> kthvalue(const at::Tensor& self, Dim k, int64_t dim,
                                   bool keepdim) {
  if (!is_ordered(self, dim) || k < 1 || k > size_along(self, dim))
    return std::nullopt;
  return with_places(self, dim, keepdim);
}

MaybeTensor place_of_extreme(const at::Tensor& self, DimArg dim, bool keepdim) {
  if (!dim) {
    if (self.is_complex() || is_empty(self.sym_sizes())) return std::nullopt;
    return fresh(self, DimVec(keepdim ? self.dim() : 0, Dim(1)), at::kLong);
  }
  if (!is_ordered(self, *dim) || is_empty({size_along(self, *dim)}))
    return std::nullopt;
  return fresh(self, without_dim(self, *dim, keepdim), at::kLong);
}

std::optional<TwoTensors> both_extremes(const at::Tensor& self, DimArg dim,
                                        bool keepdim) {
  DimVec sizes(keepdim ? self.dim() : 0, Dim(1));
  if (dim) {
    if (!is_ordered(self, *dim) || is_empty({size_along(self, *dim)}))
      return std::nullopt;
    sizes = without_dim(self, *dim, keepdim);
  } else if (self.is_complex() || is_empty(self.sym_sizes())) {
    return std::nullopt;
  }
  return TwoTensors{fresh(self, sizes, self.scalar_type()),
                    fresh(self, sizes, self.scalar_type())};
}

// ---- Running totals --------------------------------------------------------

MaybeTensor running(const at::Tensor& self, int64_t dim, DtypeArg dtype) {
  if (!is_dim(self, dim)) return std::nullopt;
  const bool integral = at::isIntegralType(self.scalar_type(), true);
  return fresh(self, self.sym_sizes(),
               dtype.value_or(integral ? at::kLong : self.scalar_type()));
}

MaybeTensor running_logsumexp(const at::Tensor& self, int64_t dim) {
  if (!is_dim(self, dim)) return std::nullopt;
  return fresh(self, self.sym_sizes(), self.scalar_type());
}

std::optional<TwoTensors> running_extreme(const at::Tensor& self, int64_t dim) {
  if (!is_ordered(self, dim)) return std::nullopt;
  return TwoTensors{fresh(self, self.sym_sizes(), self.scalar_type()),
                    fresh(self, self.sym_sizes(), at::kLong)};
}

// ---- Sorting and searching -------------------------------------------------

std::optional<TwoTensors> sort(const at::Tensor& self, std::optional<bool>,
                               int64_t dim, bool) {
  if (!is_ordered(self, dim)) return std::nullopt;
  DimVec strides = preserved_strides(self);
  return TwoTensors{
      make_tensor(self.sym_sizes(), strides, self.scalar_type(), self.device()),
      make_tensor(self.sym_sizes(), strides, at::kLong, self.device())};
}

std::optional<TwoTensors> topk(const at::Tensor& self, Dim k, int64_t dim, bool,
                               bool) {
  if (!is_ordered(self, dim) || !must_hold(k.sym_ge(0)) ||
      !must_hold(k.sym_le(size_along(self, dim))))
    return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  if (!sizes.empty()) sizes[wrap_dim(dim, self.dim())] = k;
  return TwoTensors{fresh(self, sizes, self.scalar_type()),
                    fresh(self, sizes, at::kLong)};
}

MaybeTensor found_places(const at::Tensor& sorted, const at::Tensor& self,
                         bool int32, bool, std::optional<std::string_view> side,
                         const std::optional<at::Tensor>& sorter) {
  if (side || sorter || sorted.dim() == 0 || sorted.device() != self.device() ||
      sorted.scalar_type() != self.scalar_type()) {
    return std::nullopt;
  }
  if (sorted.dim() != 1) {
    if (sorted.dim() != self.dim()) return std::nullopt;
    for (int64_t i = 0; i + 1 < self.dim(); ++i)
      if (sorted.sym_size(i) != self.sym_size(i)) return std::nullopt;
  }
  return fresh(self, self.sym_sizes(), int32 ? at::kInt : at::kLong);
}
MaybeTensor bucketize(const at::Tensor& self, const at::Tensor& boundaries,
                      bool int32, bool right) {
  if (boundaries.dim() != 1) return std::nullopt;
  return found_places(boundaries, self, int32, right, std::nullopt,
                      std::nullopt);
}

constexpr auto kComposite = Otherwise::Composite;
constexpr auto kPython = Otherwise::Python;

constexpr Rule kRules[] = {
    attempt<"aten::max.dim", &with_places>(),
    attempt<"aten::min.dim", &with_places>(),
    attempt<"aten::median.dim", &with_places, kComposite>(),
    attempt<"aten::nanmedian.dim", &with_places, kComposite>(),
    attempt<"aten::mode", &with_places, kPython>(),
    attempt<"aten::kthvalue", &kthvalue, kComposite>(),
    attempt<"aten::argmax", &place_of_extreme>(),
    attempt<"aten::argmin", &place_of_extreme>(),
    attempt<"aten::aminmax", &both_extremes>(),
    attempt<"aten::cumsum", &running>(),
    attempt<"aten::cumprod", &running>(),
    attempt<"aten::logcumsumexp", &running_logsumexp, kComposite>(),
    attempt<"aten::cummax", &running_extreme, kComposite>(),
    attempt<"aten::cummin", &running_extreme, kComposite>(),
    attempt<"aten::sort.stable", &sort>(),
    attempt<"aten::topk", &topk>(),
    attempt<"aten::searchsorted.Tensor", &found_places, kPython>(),
    attempt<"aten::bucketize.Tensor", &bucketize, kPython>(),
};

}  // namespace

std::span<const Rule> order_rules() { return kRules; }

}  // namespace magneto::tensor
