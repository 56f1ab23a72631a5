// SPDX-License-Identifier: BSD-3-Clause
// Copies of a tensor, and writes into one that leave its metadata alone.
#include "tensor/fill_checks.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using Format = std::optional<c10::MemoryFormat>;

at::Tensor copied(const at::Tensor& self, c10::ScalarType dtype,
                  c10::Device device, Format format) {
  DimVec strides =
      strides_like(self, format.value_or(c10::MemoryFormat::Preserve));
  return make_tensor(self.sym_sizes(), strides, dtype, device);
}

at::Tensor clone_of(const at::Tensor& self, Format format) {
  return copied(self, self.scalar_type(), self.device(), format);
}

at::Tensor to_copy(const at::Tensor& self, std::optional<c10::ScalarType> dtype,
                   std::optional<c10::Layout> layout,
                   std::optional<c10::Device> device, std::optional<bool>, bool,
                   Format format) {
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided,
              "to(options) doesn't support converting to a different layout, "
              "but got self.layout being Strided and options.layout set as ",
              *layout);
  return copied(self, dtype.value_or(self.scalar_type()),
                device.value_or(self.device()), format);
}

// Raises where `source` doesn't broadcast to `self`.
void check_expandable(const at::Tensor& self, const at::Tensor& source) {
  DimVec shape = broadcast(self.sym_sizes(), source.sym_sizes());
  TORCH_CHECK(must_be(shape, self.sym_sizes()), "output with shape ",
              self.sym_sizes(), " doesn't match the broadcast shape ",
              DimList(shape));
}

at::Tensor copy_into(const at::Tensor& self, const at::Tensor& source, bool) {
  check_expandable(self, source);
  return self;
}

at::Tensor masked_fill_into(const at::Tensor& self, const at::Tensor& mask) {
  check_fill_mask(mask);
  check_expandable(self, mask);
  return self;
}
at::Tensor masked_fill_number(const at::Tensor& self, const at::Tensor& mask,
                              const c10::Scalar&) {
  return masked_fill_into(self, mask);
}
at::Tensor masked_fill_tensor(const at::Tensor& self, const at::Tensor& mask,
                              const at::Tensor& value) {
  check_fill_value(value);
  return masked_fill_into(self, mask);
}

void returns_self(const OpInfo&, c10::IValue* args, Outputs& outputs) {
  outputs.push_back(args[0]);
}

at::Tensor fill_tensor(const at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "fill_ only supports 0-dimension value tensor but got tensor "
              "with ",
              value.dim(), " dimensions.");
  return self;
}

constexpr Rule kRules[] = {
    rule<&clone_of>("aten::clone"),
    rule<&to_copy>("aten::_to_copy"),
    rule<&copy_into>("aten::copy_"),
    rule<&masked_fill_number>("aten::masked_fill_.Scalar"),
    rule<&masked_fill_tensor>("aten::masked_fill_.Tensor"),
    rule<&fill_tensor>("aten::fill_.Tensor"),
    {"aten::fill_.Scalar", &returns_self},
    {"aten::zero_", &returns_self},
    {"aten::normal_", &returns_self},
    {"aten::uniform_", &returns_self},
    {"aten::random_", &returns_self},
    {"aten::random_.to", &returns_self},
    {"aten::random_.from", &returns_self},
    {"aten::bernoulli_.float", &returns_self},
    {"aten::bernoulli_.Tensor", &returns_self},
    {"aten::exponential_", &returns_self},
    {"aten::geometric_", &returns_self},
    {"aten::cauchy_", &returns_self},
    {"aten::log_normal_", &returns_self},
    {"aten::put_", &returns_self},
    {"aten::fill_diagonal_", &returns_self},
    {"aten::index_fill_.int_Scalar", &returns_self},
    {"aten::index_fill_.int_Tensor", &returns_self},
    {"aten::masked_scatter_", &returns_self},
};

}  // namespace

std::span<const Rule> copy_rules() { return kRules; }

}  // namespace magneto::tensor
