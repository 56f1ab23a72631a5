// SPDX-License-Identifier: BSD-3-Clause
// Decompositions and solutions of batches of matrices, distances, and Fourier
// transforms.
// Libraries that compute them want columns side by side, so that is how most of
// their results lie.
#include "tensor/partial_rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

bool is_float(const at::Tensor& self) {
  return self.scalar_type() == at::kFloat || self.scalar_type() == at::kDouble;
}
bool is_number(const at::Tensor& self) {
  return is_float(self) || self.scalar_type() == at::kComplexFloat ||
         self.scalar_type() == at::kComplexDouble;
}
c10::ScalarType real_type(const at::Tensor& self) {
  return c10::toRealValueType(self.scalar_type());
}

bool are_matrices(const at::Tensor& self) {
  return self.dim() >= 2 && is_number(self);
}
bool are_square(const at::Tensor& self) {
  return are_matrices(self) && self.sym_size(-1) == self.sym_size(-2);
}

at::Tensor fresh(const at::Tensor& self, DimList sizes, c10::ScalarType dtype) {
  return make_contiguous(sizes, dtype, self.device());
}

// Matrices stored column by column.
at::Tensor by_columns(const at::Tensor& self, DimList sizes) {
  DimVec strides = contiguous_strides(sizes);
  const size_t ndim = sizes.size();
  if (ndim >= 2) {
    strides[ndim - 1] = sizes[ndim - 2].max(1);
    strides[ndim - 2] = 1;
  }
  return make_tensor(sizes, strides, self.scalar_type(), self.device());
}

DimList batch(const at::Tensor& self, int64_t without = 2) {
  return self.sym_sizes().slice(0, self.dim() - without);
}
DimVec joined(DimList sizes, std::initializer_list<Dim> more) {
  DimVec result(sizes.begin(), sizes.end());
  result.append(more.begin(), more.end());
  return result;
}
Dim shorter_side(const at::Tensor& self) {
  return self.sym_size(-1).min(self.sym_size(-2));
}
at::Tensor nothing(const at::Tensor& self) {
  return fresh(self, DimVec{Dim(0)}, self.scalar_type());
}

using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

std::optional<ThreeTensors> det(const at::Tensor& self) {
  if (!are_square(self)) return std::nullopt;
  return ThreeTensors{fresh(self, batch(self), self.scalar_type()),
                      by_columns(self, self.sym_sizes()),
                      fresh(self, batch(self, 1), at::kInt)};
}

std::optional<FourTensors> slogdet(const at::Tensor& self) {
  if (!are_square(self)) return std::nullopt;
  return FourTensors{fresh(self, batch(self), self.scalar_type()),
                     fresh(self, batch(self), real_type(self)),
                     by_columns(self, self.sym_sizes()),
                     fresh(self, batch(self, 1), at::kInt)};
}

std::optional<TwoTensors> inverse(const at::Tensor& self, bool) {
  if (!are_square(self)) return std::nullopt;
  return TwoTensors{by_columns(self, self.sym_sizes()),
                    fresh(self, batch(self), at::kInt)};
}
std::optional<TwoTensors> cholesky(const at::Tensor& self, bool, bool) {
  return inverse(self, false);
}

std::optional<ThreeTensors> lu_factor(const at::Tensor& self, bool pivot,
                                      bool) {
  if (!are_matrices(self) || !pivot) return std::nullopt;
  return ThreeTensors{
      by_columns(self, self.sym_sizes()),
      fresh(self, joined(batch(self), {shorter_side(self)}), at::kInt),
      fresh(self, batch(self), at::kInt)};
}

// Right sides as matrices, or one vector for one matrix.
std::optional<FourTensors> solve(const at::Tensor& self,
                                 const at::Tensor& right, bool left, bool) {
  const bool is_vector = right.dim() == 1 && self.dim() == 2 && left;
  if (!are_square(self) || self.scalar_type() != right.scalar_type() ||
      self.device() != right.device() ||
      (!is_vector && right.dim() != self.dim())) {
    return std::nullopt;
  }
  if (right.sym_size(is_vector || !left ? -1 : -2) != self.sym_size(-1))
    return std::nullopt;
  at::Tensor result;
  if (is_vector) {
    result = fresh(self, right.sym_sizes(), self.scalar_type());
  } else {
    DimVec sizes = joined(broadcast(batch(self), batch(right)),
                          {right.sym_size(-2), right.sym_size(-1)});
    result =
        left ? by_columns(self, sizes) : fresh(self, sizes, self.scalar_type());
  }
  return FourTensors{result, by_columns(self, self.sym_sizes()),
                     fresh(self, batch(self, 1), at::kInt),
                     fresh(self, batch(self), at::kInt)};
}

MaybeTensor solve_triangular(const at::Tensor& self, const at::Tensor& right,
                             bool, bool left, bool) {
  if (!are_square(self) || right.dim() < 2 ||
      self.scalar_type() != right.scalar_type() ||
      self.device() != right.device() ||
      right.sym_size(left ? -2 : -1) != self.sym_size(-1)) {
    return std::nullopt;
  }
  return by_columns(self, joined(broadcast(batch(self), batch(right)),
                                 {right.sym_size(-2), right.sym_size(-1)}));
}

std::optional<TwoTensors> eigh(const at::Tensor& self, std::string_view,
                               bool vectors) {
  if (!are_square(self)) return std::nullopt;
  return TwoTensors{
      fresh(self, batch(self, 1), real_type(self)),
      vectors ? by_columns(self, self.sym_sizes()) : nothing(self)};
}

std::optional<ThreeTensors> svd(const at::Tensor& self, bool full, bool vectors,
                                std::optional<std::string_view> driver) {
  if (!are_matrices(self) || driver || !self.is_cpu()) return std::nullopt;
  Dim rows = self.sym_size(-2), columns = self.sym_size(-1);
  Dim rank = shorter_side(self);
  at::Tensor values = fresh(self, joined(batch(self), {rank}), real_type(self));
  if (!vectors) return ThreeTensors{nothing(self), values, nothing(self)};
  return ThreeTensors{
      by_columns(self, joined(batch(self), {rows, full ? rows : rank})), values,
      by_columns(self, joined(batch(self), {full ? columns : rank, columns}))};
}

std::optional<TwoTensors> qr(const at::Tensor& self, std::string_view mode) {
  if (!are_matrices(self)) return std::nullopt;
  Dim rows = self.sym_size(-2), columns = self.sym_size(-1);
  Dim rank = mode == "complete" ? rows : shorter_side(self);
  at::Tensor upper = by_columns(self, joined(batch(self), {rank, columns}));
  if (mode == "r") return TwoTensors{nothing(self), upper};
  if (mode != "reduced" && mode != "complete") return std::nullopt;
  return TwoTensors{by_columns(self, joined(batch(self), {rows, rank})), upper};
}

MaybeTensor cross(const at::Tensor& self, const at::Tensor& other,
                  int64_t dim) {
  const int64_t ndim = self.dim();
  if (other.dim() != ndim || dim < -ndim || dim >= ndim || ndim == 0 ||
      self.scalar_type() != other.scalar_type() ||
      self.device() != other.device()) {
    return std::nullopt;
  }
  if (self.sym_size(dim) != 3 || other.sym_size(dim) != 3) return std::nullopt;
  return fresh(self, broadcast(self.sym_sizes(), other.sym_sizes()),
               self.scalar_type());
}

MaybeTensor eigvals(const at::Tensor& self) {
  if (!are_square(self)) return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end() - 1);
  return fresh(self, sizes, c10::toComplexType(self.scalar_type()));
}

std::optional<TwoTensors> eig(const at::Tensor& self) {
  MaybeTensor values = eigvals(self);
  if (!values) return std::nullopt;
  // A GPU's are copied to where they are given.
  return TwoTensors{
      *values, self.is_cuda()
                   ? fresh(*values, self.sym_sizes(), values->scalar_type())
                   : by_columns(*values, self.sym_sizes())};
}

MaybeTensor matrix_exp(const at::Tensor& self) {
  if (!are_square(self) || !self.is_contiguous_or_false()) return std::nullopt;
  return fresh(self, self.sym_sizes(), self.scalar_type());
}

MaybeTensor cholesky_solve(const at::Tensor& self, const at::Tensor& factor,
                           bool) {
  if (!are_matrices(self) || !are_square(factor) ||
      self.dim() != factor.dim() || self.sym_size(-2) != factor.sym_size(-1))
    return std::nullopt;
  return by_columns(self, self.sym_sizes());
}

// With the default driver, which tells the rank but no residuals.
std::optional<FourTensors> lstsq(const at::Tensor& self,
                                 const at::Tensor& right, std::optional<double>,
                                 std::optional<std::string_view> driver) {
  if (!are_matrices(self) || right.dim() != self.dim() || !self.is_cpu() ||
      (driver && *driver != "gelsy") ||
      self.scalar_type() != right.scalar_type() ||
      self.sym_size(-2) != right.sym_size(-2)) {
    return std::nullopt;
  }
  for (int64_t i = 0; i + 2 < self.dim(); ++i)
    if (self.sym_size(i) != right.sym_size(i)) return std::nullopt;
  for (const Dim& size : self.sym_sizes())
    if (size == 0) return std::nullopt;
  // It is the upper part of what held the right side.
  Dim rows = self.sym_size(-2).max(self.sym_size(-1));
  Dim columns = right.sym_size(-1);
  at::Tensor whole = by_columns(self, joined(batch(self), {rows, columns}));
  at::Tensor solution =
      make_tensor(joined(batch(self), {self.sym_size(-1), columns}),
                  whole.sym_strides(), self.scalar_type(), self.device());
  at::Tensor none = fresh(self, DimVec{Dim(0)}, real_type(self));
  return FourTensors{solution, none, fresh(self, batch(self), at::kLong),
                     fresh(self, DimVec{Dim(0)}, real_type(self))};
}

// ---- Distances between rows ------------------------------------------------

MaybeTensor distances(const at::Tensor& a, const at::Tensor& b, double p,
                      std::optional<int64_t>) {
  if (!is_float(a) || a.dim() < 2 || b.dim() < 2 ||
      a.scalar_type() != b.scalar_type() || a.device() != b.device() ||
      !(p >= 0) || a.sym_size(-1) != b.sym_size(-1)) {
    return std::nullopt;
  }
  return fresh(
      a,
      joined(broadcast(batch(a), batch(b)), {a.sym_size(-2), b.sym_size(-2)}),
      a.scalar_type());
}

// Of each row to those behind it.
MaybeTensor own_distances(const at::Tensor& self, double p) {
  if (!is_float(self) || self.dim() != 2 || !(p >= 0) ||
      !self.is_contiguous_or_false()) {
    return std::nullopt;
  }
  Dim rows = self.sym_size(0);
  if (rows <= 1) return std::nullopt;
  return fresh(self, DimVec{rows * (rows - 1) / 2}, self.scalar_type());
}

// ---- Fourier transforms ----------------------------------------------------

// Over the last dimensions of a contiguous tensor, the result is contiguous.
// What it is in other cases depends on the order of all strides.
bool is_plain_transform(const at::Tensor& self, c10::IntArrayRef dims) {
  if (!self.is_cpu() || dims.empty() || !is_number(self) ||
      !self.is_contiguous_or_false()) {
    return false;
  }
  // Dimensions of size one are in order with others only in front of them all.
  bool is_first = true;
  for (const Dim& size : self.sym_sizes()) {
    if (is_first && size == 1) continue;
    is_first = false;
    if (size <= 1) return false;
  }
  const int64_t ndim = self.dim(), count = static_cast<int64_t>(dims.size());
  c10::SmallVector<bool, 5> seen(ndim, false);
  for (int64_t dim : dims) {
    if (dim < -ndim || dim >= ndim) return false;
    dim = wrap_dim(dim, ndim);
    if (seen[dim] || dim < ndim - count) return false;
    seen[dim] = true;
  }
  return true;
}

MaybeTensor fft_complex(const at::Tensor& self, c10::IntArrayRef dims, int64_t,
                        bool) {
  if (!self.is_complex() || !is_plain_transform(self, dims))
    return std::nullopt;
  return fresh(self, self.sym_sizes(), self.scalar_type());
}

MaybeTensor fft_from_real(const at::Tensor& self, c10::IntArrayRef dims,
                          int64_t, bool one_sided) {
  if (!is_float(self) || !is_plain_transform(self, dims)) return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  Dim& last = sizes[wrap_dim(dims.back(), self.dim())];
  if (one_sided) last = last / 2 + 1;
  return fresh(self, sizes, c10::toComplexType(self.scalar_type()));
}

MaybeTensor fft_to_real(const at::Tensor& self, c10::IntArrayRef dims, int64_t,
                        Dim last_size) {
  if (!self.is_complex() || !is_plain_transform(self, dims) || last_size <= 1)
    return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  sizes[wrap_dim(dims.back(), self.dim())] = last_size;
  return fresh(self, sizes, real_type(self));
}

constexpr auto kPython = Otherwise::Python;

constexpr Rule kRules[] = {
    attempt<"aten::_linalg_det", &det>(),
    attempt<"aten::_linalg_slogdet", &slogdet>(),
    attempt<"aten::linalg_inv_ex", &inverse>(),
    attempt<"aten::linalg_cholesky_ex", &cholesky>(),
    attempt<"aten::linalg_lu_factor_ex", &lu_factor>(),
    attempt<"aten::_linalg_solve_ex", &solve>(),
    attempt<"aten::linalg_solve_triangular", &solve_triangular, kPython>(),
    attempt<"aten::_linalg_eigh", &eigh>(),
    attempt<"aten::_linalg_svd", &svd>(),
    attempt<"aten::linalg_qr", &qr>(),
    attempt<"aten::linalg_cross", &cross>(),
    attempt<"aten::_linalg_eigvals", &eigvals, kPython>(),
    attempt<"aten::linalg_eig", &eig, kPython>(),
    attempt<"aten::linalg_lstsq", &lstsq, Otherwise::Composite>(),
    attempt<"aten::linalg_matrix_exp", &matrix_exp, kPython>(),
    attempt<"aten::_cholesky_solve_helper", &cholesky_solve, kPython>(),
    attempt<"aten::cholesky_solve", &cholesky_solve, Otherwise::Composite>(),
    attempt<"aten::_cdist_forward", &distances, kPython>(),
    attempt<"aten::_pdist_forward", &own_distances, kPython>(),
    attempt<"aten::_fft_c2c", &fft_complex, kPython>(),
    attempt<"aten::_fft_r2c", &fft_from_real, kPython>(),
    attempt<"aten::_fft_c2r", &fft_to_real, kPython>(),
};

}  // namespace

std::span<const Rule> linalg_rules() { return kRules; }

}  // namespace magneto::tensor
