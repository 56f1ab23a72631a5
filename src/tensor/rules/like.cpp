// SPDX-License-Identifier: BSD-3-Clause
// Operators that make a tensor like another one: x_like(), new_x(), and what
// rounds to the numbers of a quantized tensor.
#include "tensor/errors.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using Dtype = std::optional<c10::ScalarType>;
using Layout = std::optional<c10::Layout>;
using Device = std::optional<c10::Device>;
using Pin = std::optional<bool>;
using Format = std::optional<c10::MemoryFormat>;
using c10::Scalar;

// zeros_like, ones_like, rand_like...
at::Tensor like(const at::Tensor& self, Dtype dtype, Layout layout,
                Device device, Pin, Format format) {
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided,
              "only strided tensors can be made while tracing");
  DimVec strides =
      strides_like(self, format.value_or(c10::MemoryFormat::Preserve));
  return make_tensor(self.sym_sizes(), strides,
                     dtype.value_or(self.scalar_type()),
                     device.value_or(self.device()));
}
at::Tensor full_like(const at::Tensor& self, const Scalar&, Dtype dtype,
                     Layout layout, Device device, Pin pin, Format format) {
  return like(self, dtype, layout, device, pin, format);
}
at::Tensor randint_like(const at::Tensor& self, Dim, Dtype dtype, Layout layout,
                        Device device, Pin pin, Format format) {
  return like(self, dtype, layout, device, pin, format);
}
at::Tensor randint_like_low(const at::Tensor& self, Dim, Dim, Dtype dtype,
                            Layout layout, Device device, Pin pin,
                            Format format) {
  return like(self, dtype, layout, device, pin, format);
}

// new_empty, new_zeros, new_ones.
at::Tensor new_of(const at::Tensor& self, DimList size, Dtype dtype, Layout,
                  Device device, Pin) {
  for (const Dim& each : size) {
    TORCH_CHECK(must_hold(each.sym_ge(0)),
                "Trying to create tensor with negative dimension ", each, ": ",
                size);
  }
  return make_contiguous(size, dtype.value_or(self.scalar_type()),
                         device.value_or(self.device()));
}
at::Tensor new_full(const at::Tensor& self, DimList size, const Scalar&,
                    Dtype dtype, Layout layout, Device device, Pin pin) {
  return new_of(self, size, dtype, layout, device, pin);
}
at::Tensor new_empty_strided(const at::Tensor& self, DimList size,
                             DimList stride, Dtype dtype, Layout, Device device,
                             Pin) {
  return make_tensor(size, stride, dtype.value_or(self.scalar_type()),
                     device.value_or(self.device()));
}

// ---- Fake quantization ------------------------------------------------------

using TwoTensors = std::tuple<at::Tensor, at::Tensor>;

void check_limits(const at::Tensor& self, int64_t least, int64_t most) {
  if (!at::isFloatingType(self.scalar_type()) || least > most)
    throw_refused("fake quantization of these numbers");
}

// The rounded numbers, and where they were within the limits.
TwoTensors rounded(const at::Tensor& self) {
  const DimVec strides = strides_like(self, c10::MemoryFormat::Preserve);
  return {
      make_tensor(self.sym_sizes(), strides, self.scalar_type(), self.device()),
      make_tensor(self.sym_sizes(), strides, c10::kBool, self.device())};
}

TwoTensors per_tensor(const at::Tensor& self, double, int64_t zero_point,
                      int64_t least, int64_t most) {
  check_limits(self, least, most);
  if (zero_point < least || zero_point > most)
    throw_refused("fake quantization with a zero point outside of its limits");
  return rounded(self);
}

TwoTensors per_tensor_in_tensors(const at::Tensor& self, const at::Tensor&,
                                 const at::Tensor&, const at::Tensor&,
                                 int64_t least, int64_t most) {
  check_limits(self, least, most);
  return rounded(self);
}

TwoTensors per_channel(const at::Tensor& self, const at::Tensor& scale,
                       const at::Tensor& zero_point, int64_t axis,
                       int64_t least, int64_t most) {
  check_limits(self, least, most);
  if (scale.dim() != 1 || zero_point.dim() != 1 || axis < 0 ||
      axis >= self.dim() ||
      !must_hold(scale.sym_size(0).sym_eq(self.sym_size(axis))) ||
      !must_hold(zero_point.sym_size(0).sym_eq(scale.sym_size(0))))
    throw_refused("fake quantization with scales of another size");
  return rounded(self);
}

constexpr Rule kRules[] = {
    rule<&like>("aten::empty_like"),
    rule<&like>("aten::zeros_like"),
    rule<&like>("aten::ones_like"),
    rule<&like>("aten::rand_like"),
    rule<&like>("aten::randn_like"),
    rule<&full_like>("aten::full_like"),
    rule<&randint_like>("aten::randint_like"),
    rule<&randint_like_low>("aten::randint_like.low_dtype"),
    rule<&new_of>("aten::new_empty"),
    rule<&new_of>("aten::new_zeros"),
    rule<&new_of>("aten::new_ones"),
    rule<&new_full>("aten::new_full"),
    rule<&new_empty_strided>("aten::new_empty_strided"),
    rule<&per_tensor>("aten::fake_quantize_per_tensor_affine_cachemask"),
    rule<&per_tensor_in_tensors>(
        "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"),
    rule<&per_channel>("aten::fake_quantize_per_channel_affine_cachemask"),
};

}  // namespace

std::span<const Rule> like_rules() { return kRules; }

}  // namespace magneto::tensor
