// SPDX-License-Identifier: BSD-3-Clause
// Pooling that isn't structured in torch (max_pool2d and avg_pool2d are).
#include "tensor/rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

at::Tensor adaptive_avg_pool2d(const at::Tensor& self, DimList output_size) {
  TORCH_CHECK(output_size.size() == 2,
              "adaptive_avg_pool2d: output_size must be 2");
  size_t ndim = self.dim();
  TORCH_CHECK(ndim == 3 || ndim == 4,
              "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got ",
              self.sym_sizes());
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (size_t i = ndim - 2; i < ndim; ++i) {
    TORCH_CHECK(sizes[i] > 0,
                "adaptive_avg_pool2d(): Expected input to have non-zero size "
                "for non-batch dimensions, but input has sizes ",
                self.sym_sizes(), " with dimension ", i, " being empty");
    sizes[i] = output_size[i - (ndim - 2)];
  }
  c10::MemoryFormat format = ndim == 4 ? self.suggest_memory_format()
                                       : c10::MemoryFormat::Contiguous;
  return make_tensor(sizes, format_strides(sizes, format), self.scalar_type(),
                     self.device());
}

constexpr Rule kRules[] = {
    rule<&adaptive_avg_pool2d>("aten::_adaptive_avg_pool2d"),
};

}  // namespace

std::span<const Rule> pool_rules() { return kRules; }

}  // namespace magneto::tensor
