// SPDX-License-Identifier: BSD-3-Clause
// Reductions and scans. Their results are contiguous, whatever the argument's
// layout is.
#include <ATen/WrapDimUtilsMulti.h>

#include "support/torch_release.h"
#include "tensor/elementwise.h"
#include "tensor/partial_rule.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using Dims = c10::OptionalIntArrayRef;
using DtypeArg = std::optional<c10::ScalarType>;

// No dimensions, or none given, means all of them.
DimVec reduced_sizes(const at::Tensor& self, Dims dims, bool keepdim) {
  int64_t ndim = self.dim();
  DimList sizes = self.sym_sizes();
  bool all = !dims || dims->empty();
  auto reduced = all ? std::bitset<at::dim_bitset_size>().flip()
                     : at::dim_list_to_bitset(dims, ndim);
  DimVec result;
  for (int64_t i = 0; i < ndim; ++i) {
    if (!reduced[i]) {
      result.push_back(sizes[i]);
    } else if (keepdim) {
      result.emplace_back(1);
    }
  }
  return result;
}

at::Tensor reduce(const at::Tensor& self, Dims dims, bool keepdim,
                  c10::ScalarType dtype) {
  return make_contiguous(reduced_sizes(self, dims, keepdim), dtype,
                         self.device());
}

c10::ScalarType sum_type(const at::Tensor& self, DtypeArg dtype) {
  if (dtype) return *dtype;
  return at::isIntegralType(self.scalar_type(), /*includeBool=*/true)
             ? at::kLong
             : self.scalar_type();
}

at::Tensor sum_dims(const at::Tensor& self, Dims dims, bool keepdim,
                    DtypeArg dtype) {
  return reduce(self, dims, keepdim, sum_type(self, dtype));
}
at::Tensor sum_all(const at::Tensor& self, DtypeArg dtype) {
  return reduce(self, std::nullopt, false, sum_type(self, dtype));
}
at::Tensor prod_dim(const at::Tensor& self, int64_t dim, bool keepdim,
                    DtypeArg dtype) {
  return reduce(self, c10::IntArrayRef{dim}, keepdim, sum_type(self, dtype));
}

at::Tensor mean_dims(const at::Tensor& self, Dims dims, bool keepdim,
                     DtypeArg dtype) {
  c10::ScalarType type = dtype.value_or(self.scalar_type());
  if (!at::isFloatingType(type) && !at::isComplexType(type)) {
    const std::string message = c10::str(
        "mean(): could not infer output dtype. ",
        dtype ? "Optional dtype" : "Input dtype",
        " must be either a floating point or complex dtype. Got: ", type);
    TORCH_CHECK_NOT_IMPLEMENTED(kTorchMinor < 15, message);
    TORCH_CHECK(false, message);
  }
  return reduce(self, dims, keepdim, type);
}
at::Tensor mean_all(const at::Tensor& self, DtypeArg dtype) {
  return mean_dims(self, std::nullopt, false, dtype);
}

// var, std and their pairs with the mean.
void check_variance(const at::Tensor& self) {
  TORCH_CHECK(at::isFloatingType(self.scalar_type()) || self.is_complex(),
              "std and var only support floating point and complex dtypes");
}
at::Tensor variance(const at::Tensor& self, Dims dims,
                    const std::optional<c10::Scalar>& correction,
                    bool keepdim) {
  check_variance(self);
  return reduce(self, dims, keepdim, c10::toRealValueType(self.scalar_type()));
}
std::tuple<at::Tensor, at::Tensor> variance_and_mean(
    const at::Tensor& self, Dims dims,
    const std::optional<c10::Scalar>& correction, bool keepdim) {
  check_variance(self);
  return {reduce(self, dims, keepdim, c10::toRealValueType(self.scalar_type())),
          reduce(self, dims, keepdim, self.scalar_type())};
}

void check_not_empty(const at::Tensor& self, const char* name) {
  TORCH_CHECK(must_hold(self.sym_numel().sym_gt(0)), name,
              "(): Expected reduction dim to be specified for input.numel() == "
              "0. Specify the reduction dim with the 'dim' argument.");
}
at::Tensor max_all(const at::Tensor& self) {
  check_not_empty(self, "max");
  return reduce(self, std::nullopt, false, self.scalar_type());
}
at::Tensor min_all(const at::Tensor& self) {
  check_not_empty(self, "min");
  return reduce(self, std::nullopt, false, self.scalar_type());
}
at::Tensor median_all(const at::Tensor& self) {
  return reduce(self, std::nullopt, false, self.scalar_type());
}
at::Tensor extreme_dims(const at::Tensor& self, c10::IntArrayRef dims,
                        bool keepdim) {
  DimList sizes = self.sym_sizes();
  if (is_empty(sizes)) {
    TORCH_CHECK_INDEX(!dims.empty(),
                      "Expected reduction dim to be specified for "
                      "input.numel() == 0. Specify the reduction dim with the "
                      "'dim' argument.");
    for (int64_t dim : dims) {
      TORCH_CHECK_INDEX(sizes[wrap_dim(dim, self.dim())] != 0,
                        "Expected reduction dim ", dim,
                        " to have non-zero size.");
    }
  }
  return reduce(self, dims, keepdim, self.scalar_type());
}

at::Tensor count_nonzero(const at::Tensor& self, c10::IntArrayRef dims) {
  return reduce(self, dims, false, at::kLong);
}

at::Tensor logsumexp(const at::Tensor& self, c10::IntArrayRef dims,
                     bool keepdim) {
  return reduce(self, dims, keepdim, float_type(self.scalar_type()));
}

at::Tensor trace(const at::Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix");
  return make_contiguous(DimVec{}, sum_type(self, std::nullopt), self.device());
}

// ---- Truth -----------------------------------------------------------------

// Bytes were truth values once, and stay bytes.
c10::ScalarType truth_type(const at::Tensor& self) {
  return self.scalar_type() == at::kByte ? at::kByte : at::kBool;
}
at::Tensor truth_of_all(const at::Tensor& self) {
  return reduce(self, std::nullopt, false, truth_type(self));
}
at::Tensor truth_along(const at::Tensor& self, int64_t dim, bool keepdim) {
  return reduce(self, c10::IntArrayRef{dim}, keepdim, truth_type(self));
}
MaybeTensor truth_along_dims(const at::Tensor& self, Dims dims, bool keepdim) {
  if (dims && dims->empty()) return std::nullopt;
  return reduce(self, dims, keepdim, truth_type(self));
}

// ---- Norms -----------------------------------------------------------------

bool has_norm(const at::Tensor& self, DtypeArg dtype) {
  auto is_real_or_complex = [](c10::ScalarType type) {
    return at::isFloatingType(type) || at::isComplexType(type);
  };
  return is_real_or_complex(self.scalar_type()) &&
         (!dtype || (is_real_or_complex(*dtype) &&
                     at::isComplexType(*dtype) == self.is_complex() &&
                     c10::promoteTypes(self.scalar_type(), *dtype) == *dtype));
}
MaybeTensor norm_of(const at::Tensor& self, Dims dims, bool keepdim,
                    DtypeArg dtype) {
  if (!has_norm(self, dtype) || is_empty(self.sym_sizes())) return std::nullopt;
  return reduce(self, dims, keepdim,
                c10::toRealValueType(dtype.value_or(self.scalar_type())));
}
MaybeTensor vector_norm(const at::Tensor& self, const c10::Scalar& order,
                        Dims dims, bool keepdim, DtypeArg dtype) {
  if (order.isComplex()) return std::nullopt;
  return norm_of(self, dims, keepdim, dtype);
}
MaybeTensor norm_dims(const at::Tensor& self,
                      const std::optional<c10::Scalar>& order,
                      c10::IntArrayRef dims, bool keepdim) {
  if (order && order->isComplex()) return std::nullopt;
  return norm_of(self, dims, keepdim, std::nullopt);
}
MaybeTensor norm_dims_dtype(const at::Tensor& self,
                            const std::optional<c10::Scalar>& order,
                            c10::IntArrayRef dims, bool keepdim,
                            c10::ScalarType dtype) {
  if (order && order->isComplex()) return std::nullopt;
  return norm_of(self, dims, keepdim, dtype);
}

at::Tensor softmax_like(const at::Tensor& self, int64_t dim,
                        bool half_to_float) {
  wrap_dim(dim, self.dim());
  TORCH_CHECK(at::isFloatingType(self.scalar_type()) || self.is_complex(),
              "softmax kernel not implemented for '", self.scalar_type(), "'");
  if (half_to_float) {
    TORCH_CHECK(!self.is_cpu(),
                "softmax with half to float conversion is not supported on "
                "CPU");
    TORCH_CHECK(
        self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16,
        "conversion is supported for Half and BFloat16 type only");
  }
  return make_contiguous(self.sym_sizes(),
                         half_to_float ? at::kFloat : self.scalar_type(),
                         self.device());
}

at::Tensor histc(const at::Tensor& self, int64_t bins, const c10::Scalar&,
                 const c10::Scalar&) {
  TORCH_CHECK(bins > 0, "bins must be > 0");
  return make_contiguous({bins}, self.scalar_type(), self.device());
}

constexpr Rule kRules[] = {
    rule<&histc>("aten::histc"),
    rule<&sum_all>("aten::sum"),
    rule<&sum_dims>("aten::sum.dim_IntList"),
    rule<&sum_dims>("aten::nansum"),
    rule<&sum_all>("aten::prod"),
    rule<&prod_dim>("aten::prod.dim_int"),
    rule<&mean_all>("aten::mean"),
    rule<&mean_dims>("aten::mean.dim"),
    rule<&variance>("aten::var.correction"),
    rule<&variance>("aten::std.correction"),
    rule<&variance_and_mean>("aten::var_mean.correction"),
    rule<&variance_and_mean>("aten::std_mean.correction"),
    rule<&max_all>("aten::max"),
    rule<&min_all>("aten::min"),
    rule<&median_all>("aten::median"),
    rule<&median_all>("aten::nanmedian"),
    rule<&extreme_dims>("aten::amax"),
    rule<&extreme_dims>("aten::amin"),
    rule<&count_nonzero>("aten::count_nonzero.dim_IntList"),
    rule<&logsumexp>("aten::logsumexp"),
    rule<&trace>("aten::trace"),
    rule<&truth_of_all>("aten::all"),
    rule<&truth_of_all>("aten::any"),
    rule<&truth_along>("aten::all.dim"),
    rule<&truth_along>("aten::any.dim"),
    attempt<"aten::all.dims", &truth_along_dims>(),
    attempt<"aten::any.dims", &truth_along_dims>(),
    attempt<"aten::linalg_vector_norm", &vector_norm>(),
    attempt<"aten::norm.ScalarOpt_dim", &norm_dims>(),
    attempt<"aten::norm.ScalarOpt_dim_dtype", &norm_dims_dtype>(),
    rule<&softmax_like>("aten::_softmax"),
    rule<&softmax_like>("aten::_log_softmax"),
};

}  // namespace

std::span<const Rule> reduce_rules() { return kRules; }

}  // namespace magneto::tensor
