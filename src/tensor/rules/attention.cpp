// SPDX-License-Identifier: BSD-3-Clause
// Fused attention. scaled_dot_product_attention is composite: torch decides
// between the fused kernels and plain arithmetic from the fakes' metadata.
#include "tensor/rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

std::tuple<at::Tensor, at::Tensor> flash_for_cpu(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    double, bool, const std::optional<at::Tensor>&, std::optional<double>) {
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
              "scaled_dot_product_attention_flash_attention: Accept only 4 "
              "dims inputs shape of {B, H, T, K}");
  Dim batch = query.sym_size(0), heads = query.sym_size(1);
  Dim length = query.sym_size(2);
  c10::ScalarType sums =
      query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor logsumexp =
      make_tensor(DimVec{batch, heads, length},
                  DimVec{length * heads, Dim(1), heads}, sums, query.device());
  return {make_tensor(query.sym_sizes(), preserved_strides(query),
                      query.scalar_type(), query.device()),
          logsumexp};
}

constexpr Rule kRules[] = {
    rule<&flash_for_cpu>("aten::_scaled_dot_product_flash_attention_for_cpu"),
};

}  // namespace

std::span<const Rule> attention_rules() { return kRules; }

}  // namespace magneto::tensor
