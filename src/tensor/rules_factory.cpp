// SPDX-License-Identifier: BSD-3-Clause
// Operators that make a tensor from sizes, or one like another.
#include "tensor/rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

// The four arguments that every factory function ends with.
struct Options {
  std::optional<c10::ScalarType> dtype;
  std::optional<c10::Layout> layout;
  std::optional<c10::Device> device;
  std::optional<bool> pin_memory;

  c10::ScalarType dtype_or_default() const {
    return dtype.value_or(c10::typeMetaToScalarType(c10::get_default_dtype()));
  }
  c10::Device device_or_cpu() const { return device.value_or(c10::kCPU); }
};

at::Tensor make(DimList size, const Options& options,
                std::optional<c10::MemoryFormat> format = std::nullopt) {
  TORCH_CHECK(options.layout.value_or(c10::kStrided) == c10::kStrided,
              "only strided tensors can be made while tracing");
  for (const Dim& each : size) {
    TORCH_CHECK(each >= 0, "Trying to create tensor with negative dimension ",
                each, ": ", size);
  }
  DimVec strides =
      format_strides(size, format.value_or(c10::MemoryFormat::Contiguous));
  return make_tensor(size, strides, options.dtype_or_default(),
                     options.device_or_cpu());
}

at::Tensor empty(DimList size, std::optional<c10::ScalarType> dtype,
                 std::optional<c10::Layout> layout,
                 std::optional<c10::Device> device,
                 std::optional<bool> pin_memory,
                 std::optional<c10::MemoryFormat> memory_format) {
  return make(size, {dtype, layout, device, pin_memory}, memory_format);
}

at::Tensor empty_strided(DimList size, DimList stride,
                         std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout> layout,
                         std::optional<c10::Device> device,
                         std::optional<bool> pin_memory) {
  Options options{dtype, layout, device, pin_memory};
  return make_tensor(size, stride, options.dtype_or_default(),
                     options.device_or_cpu());
}

constexpr Rule kRules[] = {
    rule<&empty>("aten::empty.memory_format"),
    rule<&empty_strided>("aten::empty_strided"),
};

}  // namespace

std::span<const Rule> factory_rules() { return kRules; }

}  // namespace magneto::tensor
