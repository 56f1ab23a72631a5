// SPDX-License-Identifier: BSD-3-Clause
// Windows that slide over images: pooling, unpooling, and unfolding into
// columns.
#include "tensor/partial_rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

using Ints = c10::IntArrayRef;

// ---- Pooling over windows of given sizes -----------------------------------

struct Window {
  Ints kernel, stride, padding, dilation;
  bool ceil_mode;

  // One number stands for all dimensions; the default stride is the kernel's
  // size.
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

// The sizes of the result; nothing if the arguments are wrong.
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

// ---- Pooling to given sizes ------------------------------------------------

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
  c10::MemoryFormat format =
      ndim == 4 ? self.suggest_memory_format() : c10::MemoryFormat::Contiguous;
  return make_tensor(sizes, format_strides(sizes, format), self.scalar_type(),
                     self.device());
}

at::Tensor adaptive_avg_pool3d(const at::Tensor& self, DimList output_size) {
  TORCH_CHECK(output_size.size() == 3,
              "adaptive_avg_pool3d: output_size must be 3");
  size_t ndim = self.dim();
  TORCH_CHECK(ndim == 4 || ndim == 5,
              "adaptive_avg_pool3d(): Expected 4D or 5D tensor, but got ",
              self.sym_sizes());
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (size_t i = ndim - 3; i < ndim; ++i) {
    TORCH_CHECK(sizes[i] > 0,
                "adaptive_avg_pool3d(): Expected input to have non-zero size "
                "for non-batch dimensions, but input has sizes ",
                self.sym_sizes(), " with dimension ", i, " being empty");
    sizes[i] = output_size[i - (ndim - 3)];
  }
  return make_contiguous(sizes, self.scalar_type(), self.device());
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

// ---- Unpooling -------------------------------------------------------------

at::Tensor max_unpool2d(const at::Tensor& self, const at::Tensor& indices,
                        DimList output_size) {
  TORCH_CHECK(indices.scalar_type() == at::kLong,
              "elements in indices should be type int64 but got: ",
              indices.scalar_type());
  TORCH_CHECK(output_size.size() == 2,
              "There should be exactly two elements (height, width) in "
              "output_size, but got ",
              output_size.size(), " elements.");
  size_t ndim = self.dim();
  TORCH_CHECK(ndim == 3 || ndim == 4,
              "Input to max_unpooling2d should be a 3d or 4d Tensor, but got a "
              "tensor with ",
              ndim, " dimensions.");
  TORCH_CHECK(self.sym_sizes().equals(indices.sym_sizes()),
              "Expected shape of indices to be same as that of the input "
              "tensor (",
              self.sym_sizes(),
              ") but got indices tensor with shape: ", indices.sym_sizes());
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  sizes[ndim - 2] = output_size[0];
  sizes[ndim - 1] = output_size[1];
  return make_image(self, sizes, 4);
}

// ---- Unfolding and folding -------------------------------------------------

// Blocks that slide over an image, one column each.
at::Tensor im2col(const at::Tensor& self, DimList kernel, DimList dilation,
                  DimList padding, DimList stride) {
  for (DimList pair : {kernel, dilation, padding, stride})
    TORCH_CHECK(pair.size() == 2,
                "It is expected that there are two sizes, but got ",
                pair.size());
  size_t ndim = self.dim();
  TORCH_CHECK(
      (ndim == 3 || ndim == 4) && self.sym_sizes()[ndim - 1] != 0 &&
          self.sym_sizes()[ndim - 2] != 0 && self.sym_sizes()[ndim - 3] != 0,
      "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size "
      "and other non-zero dimensions for input, but got: ",
      self.sym_sizes());
  Dim columns = 1;
  Dim rows = self.sym_sizes()[ndim - 3];
  for (size_t i = 0; i < 2; ++i) {
    TORCH_CHECK(kernel[i] > 0 && dilation[i] > 0 && stride[i] > 0,
                "kernel size, dilation and stride should be greater than zero");
    TORCH_CHECK(padding[i] >= 0, "padding should be non-negative");
    Dim room = self.sym_sizes()[ndim - 2 + i] + padding[i] * 2 -
               (dilation[i] * (kernel[i] - 1) + 1);
    TORCH_CHECK(room >= 0, "Given input with spatial size ", self.sym_sizes(),
                ", the array of sliding blocks must have at least one");
    columns *= room / stride[i] + 1;
    rows *= kernel[i];
  }
  DimVec sizes{rows, columns};
  if (ndim == 4) sizes.insert(sizes.begin(), self.sym_sizes()[0]);
  return make_contiguous(sizes, self.scalar_type(), self.device());
}

// The reverse of im2col: columns, each a block, are added up to an image.
MaybeTensor col2im(const at::Tensor& self, DimList output,
                   c10::IntArrayRef kernel, c10::IntArrayRef dilation,
                   c10::IntArrayRef padding, c10::IntArrayRef stride) {
  const int64_t ndim = self.dim();
  if (output.size() != 2 || kernel.size() != 2 || dilation.size() != 2 ||
      padding.size() != 2 || stride.size() != 2 || (ndim != 2 && ndim != 3)) {
    return std::nullopt;
  }
  Dim blocks = 1;
  for (size_t i = 0; i < 2; ++i) {
    if (kernel[i] <= 0 || dilation[i] <= 0 || padding[i] < 0 ||
        stride[i] <= 0) {
      return std::nullopt;
    }
    Dim room = output[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    if (room < 0) return std::nullopt;
    blocks *= room / stride[i] + 1;
  }
  Dim rows = self.sym_size(-2);
  const int64_t block = kernel[0] * kernel[1];
  if (rows == 0 || rows % block != 0 || self.sym_size(-1) != blocks)
    return std::nullopt;
  DimVec sizes{rows / block, output[0], output[1]};
  if (ndim == 3) sizes.insert(sizes.begin(), self.sym_size(0));
  return make_contiguous(sizes, self.scalar_type(), self.device());
}

// The gradient of Tensor.unfold: windows, added up to the tensor that they were
// taken from.
MaybeTensor unfold_backward(const at::Tensor& self, DimList sizes, int64_t,
                            int64_t, int64_t) {
  return make_contiguous(sizes, self.scalar_type(), self.device());
}

constexpr Rule kRules[] = {
    attempt<"aten::fractional_max_pool2d", &fractional_max_pool2d>(),
    attempt<"aten::max_pool2d_with_indices", &max_pool2d>(),
    attempt<"aten::max_pool3d_with_indices", &max_pool3d, Otherwise::Python>(),
    attempt<"aten::avg_pool2d", &avg_pool2d>(),
    attempt<"aten::avg_pool3d", &avg_pool3d>(),
    attempt<"aten::adaptive_max_pool2d", &adaptive_max_pool2d>(),
    attempt<"aten::adaptive_max_pool3d", &adaptive_max_pool3d>(),
    rule<&adaptive_avg_pool2d>("aten::_adaptive_avg_pool2d"),
    rule<&adaptive_avg_pool3d>("aten::_adaptive_avg_pool3d"),
    rule<&max_unpool2d>("aten::max_unpool2d"),
    rule<&im2col>("aten::im2col"),
    attempt<"aten::col2im", &col2im, Otherwise::Python>(),
    attempt<"aten::unfold_backward", &unfold_backward, Otherwise::Python>(),
};

}  // namespace

std::span<const Rule> pool_rules() { return kRules; }

}  // namespace magneto::tensor
