// SPDX-License-Identifier: BSD-3-Clause
// Pooling over windows.
#include "tensor/partial_rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

using Ints = c10::IntArrayRef;

struct Window {
  Ints kernel, stride, padding, dilation;
  bool ceil_mode;

  // One number stands for all dimensions; no stride is the kernel's size.
  int64_t kernel_at(size_t i) const { return at(kernel, i); }
  int64_t stride_at(size_t i) const {
    return stride.empty() ? kernel_at(i) : at(stride, i);
  }
  int64_t padding_at(size_t i) const { return at(padding, i); }
  int64_t dilation_at(size_t i) const {
    return dilation.empty() ? 1 : at(dilation, i);
  }

  bool is_for(size_t count) const {
    for (Ints each : {kernel, padding})
      if (each.size() != 1 && each.size() != count) return false;
    for (Ints each : {stride, dilation})
      if (each.size() > 1 && each.size() != count) return false;
    for (size_t i = 0; i < count; ++i) {
      if (kernel_at(i) <= 0 || stride_at(i) <= 0 || dilation_at(i) <= 0 ||
          padding_at(i) < 0 || padding_at(i) > kernel_at(i) / 2) {
        return false;
      }
    }
    return true;
  }

 private:
  static int64_t at(Ints values, size_t i) {
    return values.size() == 1 ? values[0] : values[i];
  }
};

Dim pooled(const Dim& size, const Window& window, size_t i) {
  const int64_t stride = window.stride_at(i), padding = window.padding_at(i);
  Dim room = size + 2 * padding -
             window.dilation_at(i) * (window.kernel_at(i) - 1) - 1;
  if (!window.ceil_mode) return room / stride + 1;
  // The last window must begin within the image or the padding before it.
  Dim starts = (size + padding + stride - 1) / stride;
  return ((room + stride - 1) / stride + 1).min(starts);
}

// The sizes of the result, none if there are none.
std::optional<DimVec> pooled_sizes(const at::Tensor& self, size_t count,
                                   const Window& window) {
  const size_t ndim = self.dim();
  if ((ndim != count + 1 && ndim != count + 2) || !window.is_for(count))
    return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (size_t i = ndim - count - 1; i < ndim; ++i)
    if (sizes[i] == 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    Dim& size = sizes[ndim - count + i];
    Dim least = window.dilation_at(i) * (window.kernel_at(i) - 1) + 1;
    if (size + 2 * window.padding_at(i) < least) return std::nullopt;
    size = pooled(size, window, i);
  }
  return sizes;
}

at::Tensor image_like(const at::Tensor& self, DimList sizes,
                      c10::ScalarType dtype) {
  return make_tensor(sizes, format_strides(sizes, self.suggest_memory_format()),
                     dtype, self.device());
}

std::optional<TwoTensors> max_pool2d(const at::Tensor& self, Ints kernel,
                                     Ints stride, Ints padding, Ints dilation,
                                     bool ceil_mode) {
  auto sizes =
      pooled_sizes(self, 2, {kernel, stride, padding, dilation, ceil_mode});
  if (!sizes) return std::nullopt;
  return TwoTensors{image_like(self, *sizes, self.scalar_type()),
                    image_like(self, *sizes, at::kLong)};
}

std::optional<TwoTensors> max_pool3d(const at::Tensor& self, Ints kernel,
                                     Ints stride, Ints padding, Ints dilation,
                                     bool ceil_mode) {
  auto sizes =
      pooled_sizes(self, 3, {kernel, stride, padding, dilation, ceil_mode});
  if (!sizes || !self.is_cpu()) return std::nullopt;
  return TwoTensors{image_like(self, *sizes, self.scalar_type()),
                    image_like(self, *sizes, at::kLong)};
}

MaybeTensor avg_pool2d(const at::Tensor& self, Ints kernel, Ints stride,
                       Ints padding, bool ceil_mode, bool,
                       std::optional<int64_t> divisor) {
  auto sizes = pooled_sizes(self, 2, {kernel, stride, padding, {}, ceil_mode});
  if (!sizes || divisor == 0) return std::nullopt;
  return image_like(self, *sizes, self.scalar_type());
}

MaybeTensor avg_pool3d(const at::Tensor& self, Ints kernel, Ints stride,
                       Ints padding, bool ceil_mode, bool,
                       std::optional<int64_t> divisor) {
  auto sizes = pooled_sizes(self, 3, {kernel, stride, padding, {}, ceil_mode});
  if (!sizes || divisor == 0) return std::nullopt;
  return make_contiguous(*sizes, self.scalar_type(), self.device());
}

// ---- To given sizes --------------------------------------------------------

std::optional<DimVec> adapted_sizes(const at::Tensor& self, Ints output) {
  const size_t count = output.size(), ndim = self.dim();
  if (ndim != count + 1 && ndim != count + 2) return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (size_t i = ndim - count; i < ndim; ++i) {
    if (sizes[i] == 0) return std::nullopt;
    sizes[i] = output[i - (ndim - count)];
  }
  return sizes;
}

std::optional<TwoTensors> adaptive_max_pool2d(const at::Tensor& self,
                                              Ints output) {
  if (output.size() != 2) return std::nullopt;
  auto sizes = adapted_sizes(self, output);
  if (!sizes) return std::nullopt;
  return TwoTensors{image_like(self, *sizes, self.scalar_type()),
                    image_like(self, *sizes, at::kLong)};
}

std::optional<TwoTensors> adaptive_max_pool3d(const at::Tensor& self,
                                              Ints output) {
  if (output.size() != 3) return std::nullopt;
  auto sizes = adapted_sizes(self, output);
  if (!sizes) return std::nullopt;
  return TwoTensors{make_contiguous(*sizes, self.scalar_type(), self.device()),
                    make_contiguous(*sizes, at::kLong, self.device())};
}

// `samples`: two numbers for each channel.
std::optional<TwoTensors> fractional_max_pool2d(const at::Tensor& self,
                                                Ints kernel, Ints output,
                                                const at::Tensor& samples) {
  const int64_t ndim = self.dim();
  if (kernel.size() != 2 || output.size() != 2 || samples.dim() != 3 ||
      (ndim != 3 && ndim != 4) || samples.scalar_type() != self.scalar_type() ||
      samples.sym_size(0) != (ndim == 3 ? Dim(1) : self.sym_size(0)) ||
      samples.sym_size(1) != self.sym_size(ndim - 3) ||
      samples.sym_size(2) != 2 || self.sym_size(ndim - 3) == 0) {
    return std::nullopt;
  }
  for (size_t i = 0; i < 2; ++i) {
    if (output[i] <= 0 || kernel[i] <= 0 ||
        self.sym_size(ndim - 2 + static_cast<int64_t>(i)) <
            output[i] + kernel[i] - 1)
      return std::nullopt;
  }
  auto sizes = adapted_sizes(self, output);
  if (!sizes) return std::nullopt;
  return TwoTensors{make_contiguous(*sizes, self.scalar_type(), self.device()),
                    make_contiguous(*sizes, at::kLong, self.device())};
}

constexpr Rule kRules[] = {
    attempt<"aten::fractional_max_pool2d", &fractional_max_pool2d>(),
    attempt<"aten::max_pool2d_with_indices", &max_pool2d>(),
    attempt<"aten::max_pool3d_with_indices", &max_pool3d, Otherwise::Python>(),
    attempt<"aten::avg_pool2d", &avg_pool2d>(),
    attempt<"aten::avg_pool3d", &avg_pool3d>(),
    attempt<"aten::adaptive_max_pool2d", &adaptive_max_pool2d>(),
    attempt<"aten::adaptive_max_pool3d", &adaptive_max_pool3d>(),
};

}  // namespace

std::span<const Rule> pool_rules() { return kRules; }

}  // namespace magneto::tensor
