// SPDX-License-Identifier: BSD-3-Clause
// Losses that aren't composite.
#include <ATen/core/Reduction.h>

#include "tensor/elementwise.h"
#include "tensor/partial_rule.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using OptionalTensor = const std::optional<at::Tensor>&;

at::Tensor single(const at::Tensor& like, c10::ScalarType dtype) {
  return make_contiguous(DimVec{}, dtype, like.device());
}

at::Tensor pairwise(const at::Tensor& input, const at::Tensor& target,
                    int64_t reduction) {
  TensorVec both{input, target};
  c10::ScalarType type = promoted_type(both);
  at::Tensor each = elementwise(both, type, type);
  return reduction == at::Reduction::None ? each : single(input, type);
}
at::Tensor huber_loss(const at::Tensor& input, const at::Tensor& target,
                      int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0,
              "huber_loss does not support non-positive values for "
              "delta.");
  return pairwise(input, target, reduction);
}
at::Tensor smooth_l1_loss(const at::Tensor& input, const at::Tensor& target,
                          int64_t reduction, double beta) {
  TORCH_CHECK(beta >= 0,
              "smooth_l1_loss does not support negative values for "
              "beta.");
  return pairwise(input, target, reduction);
}
at::Tensor binary_cross_entropy(const at::Tensor& input, const at::Tensor&,
                                OptionalTensor, int64_t reduction) {
  if (reduction != at::Reduction::None) {
    return single(input, input.scalar_type());
  }
  return make_tensor(input.sym_sizes(), preserved_strides(input),
                     input.scalar_type(), input.device());
}

void check_classes(const at::Tensor& input, const at::Tensor& target,
                   OptionalTensor weight, int64_t class_dim) {
  TORCH_CHECK(!weight || !weight->defined() ||
                  (weight->dim() == 1 && must_hold(weight->sym_numel().sym_eq(
                                             input.sym_size(class_dim)))),
              "weight tensor should be defined either for all ",
              input.sym_size(class_dim),
              " classes or no classes but got weight tensor of shape: ",
              weight->sym_sizes());
}

std::tuple<at::Tensor, at::Tensor> nll_loss(const at::Tensor& self,
                                            const at::Tensor& target,
                                            OptionalTensor weight,
                                            int64_t reduction, Dim) {
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2,
              "input tensor should be 1D "
              "or 2D");
  TORCH_CHECK(target.dim() <= 1,
              "0D or 1D target tensor expected, multi-target not supported");
  bool no_batch = self.dim() == 1 && target.dim() == 0;
  TORCH_CHECK(
      no_batch || must_hold(self.sym_size(0).sym_eq(target.sym_size(0))),
      "size mismatch (got input: ", self.sym_sizes(),
      ", target: ", target.sym_sizes(), ")");
  check_classes(self, target, weight, self.dim() - 1);
  bool each = reduction == at::Reduction::None && self.dim() == 2;
  at::Tensor output = each ? make_contiguous(DimVec{self.sym_size(0)},
                                             self.scalar_type(), self.device())
                           : single(self, self.scalar_type());
  return {output, single(self, self.scalar_type())};
}

std::tuple<at::Tensor, at::Tensor> nll_loss2d(const at::Tensor& self,
                                              const at::Tensor& target,
                                              OptionalTensor weight,
                                              int64_t reduction, Dim) {
  TORCH_CHECK(target.dim() == 3,
              "only batches of spatial targets supported (3D tensors) but got "
              "targets of dimension: ",
              target.dim());
  TORCH_CHECK(self.dim() == 4,
              "only batches of spatial inputs supported (4D tensors), but got "
              "input of dimension: ",
              self.dim());
  TORCH_CHECK(must_hold(self.sym_size(0).sym_eq(target.sym_size(0))) &&
                  must_hold(self.sym_size(2).sym_eq(target.sym_size(1))) &&
                  must_hold(self.sym_size(3).sym_eq(target.sym_size(2))),
              "size mismatch (got input: ", self.sym_sizes(),
              " , target: ", target.sym_sizes());
  check_classes(self, target, weight, 1);
  at::Tensor output = reduction == at::Reduction::None
                          ? make_contiguous(target.sym_sizes(),
                                            self.scalar_type(), self.device())
                          : single(self, self.scalar_type());
  return {output, single(self, self.scalar_type())};
}

// A row of scores, or a matrix of them with something for each row.
bool are_scores(const at::Tensor& self) {
  return (self.dim() == 1 || self.dim() == 2) && self.is_cpu() &&
         self.sym_size(-1) != 0;
}

MaybeTensor multi_margin(const at::Tensor& self, const at::Tensor& target,
                         const c10::Scalar& p, const c10::Scalar&,
                         OptionalTensor weight, int64_t reduction) {
  if (!are_scores(self) || target.dim() > 1 || !p.isIntegral(false) ||
      target.sym_numel() != (self.dim() == 1 ? Dim(1) : self.sym_size(0)) ||
      (weight && weight->defined() &&
       (weight->dim() != 1 || weight->sym_size(0) != self.sym_size(-1)))) {
    return std::nullopt;
  }
  if (reduction != at::Reduction::None) return single(self, self.scalar_type());
  return make_contiguous(target.sym_sizes(), self.scalar_type(), self.device());
}

std::optional<TwoTensors> multilabel_margin(const at::Tensor& self,
                                            const at::Tensor& target,
                                            int64_t reduction) {
  if (!are_scores(self) || target.dim() != self.dim()) return std::nullopt;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (self.sym_size(i) != target.sym_size(i)) return std::nullopt;
  at::Tensor is_target =
      make_contiguous(target.sym_sizes(), self.scalar_type(), self.device());
  if (reduction != at::Reduction::None || self.dim() == 1)
    return TwoTensors{single(self, self.scalar_type()), is_target};
  return TwoTensors{make_contiguous(DimVec{self.sym_size(0)},
                                    self.scalar_type(), self.device()),
                    is_target};
}

constexpr auto kPython = Otherwise::Python;

constexpr Rule kRules[] = {
    attempt<"aten::multi_margin_loss", &multi_margin, kPython>(),
    attempt<"aten::multilabel_margin_loss_forward", &multilabel_margin,
            kPython>(),
    rule<&huber_loss>("aten::huber_loss"),
    rule<&smooth_l1_loss>("aten::smooth_l1_loss"),
    rule<&binary_cross_entropy>("aten::binary_cross_entropy"),
    rule<&pairwise>("aten::mse_loss"),
    rule<&nll_loss>("aten::nll_loss_forward"),
    rule<&nll_loss2d>("aten::nll_loss2d_forward"),
};

}  // namespace

std::span<const Rule> loss_rules() { return kRules; }

}  // namespace magneto::tensor
