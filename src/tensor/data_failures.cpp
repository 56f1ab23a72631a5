// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/data_failures.h"

#include <algorithm>

#include "tensor/op_name.h"

namespace magneto::tensor {
namespace {

// See plain_name(). Sorted.
constexpr std::string_view kOperators[] = {
    "_assert_async",
    "_assert_scalar",
    "_cholesky_solve_helper",
    "_ctc_loss",
    "_embedding_bag",
    "_embedding_bag_forward_only",
    "_functional_assert_async",
    "_functional_assert_scalar",
    "_histogramdd_bin_edges",
    "_histogramdd_from_bin_cts",
    "_histogramdd_from_bin_tensors",
    "_index_put_impl",
    "_linalg_check_errors",
    "_linalg_eigh",
    "_linalg_eigvals",
    "_linalg_svd",
    "_pack_padded_sequence",
    "_sample_dirichlet",
    "_standard_gamma",
    "bernoulli",
    "binary_cross_entropy",
    "bincount",
    "binomial",
    "cholesky",
    "cholesky_inverse",
    "embedding",
    "embedding_renorm",
    "fake_quantize_per_channel_affine_cachemask",
    "gather",
    "geqrf",
    "histc",
    "histogram",
    "index",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "inverse",
    "linalg_cholesky",
    "linalg_eig",
    "linalg_eigh",
    "linalg_eigvals",
    "linalg_eigvalsh",
    "linalg_inv",
    "linalg_ldl_factor",
    "linalg_lstsq",
    "linalg_lu_factor",
    "linalg_pinv",
    "linalg_solve",
    "linalg_svd",
    "linalg_svdvals",
    "lu_unpack",
    "masked_scatter",
    "max_unpool2d",
    "max_unpool3d",
    "multi_margin_loss",
    "multilabel_margin_loss_forward",
    "multinomial",
    "mvlgamma",
    "nll_loss2d_forward",
    "nll_loss_forward",
    "normal",
    "ormqr",
    "poisson",
    "put",
    "repeat_interleave",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "segment_reduce",
    "take",
    "triangular_solve",
};
static_assert(std::ranges::is_sorted(kOperators));

// These divide: integers fail by a zero.
constexpr std::string_view kDivisions[] = {"div", "floor_divide", "fmod",
                                           "remainder"};
static_assert(std::ranges::is_sorted(kDivisions));

}  // namespace

DataFailure data_failure(std::string_view name) {
  name = plain_name(name);
  if (std::ranges::binary_search(kOperators, name)) return DataFailure::Any;
  if (std::ranges::binary_search(kDivisions, name))
    return DataFailure::IntegerDivisor;
  // Integers to a negative power.
  return name == "pow" ? DataFailure::IntegerExponent : DataFailure::Never;
}

}  // namespace magneto::tensor
