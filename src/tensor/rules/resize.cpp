// SPDX-License-Identifier: BSD-3-Clause
// Images scaled to other sizes, sampled, and put together from blocks, and
// signals with more at their ends.
#include "tensor/partial_rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

using Scale = std::optional<double>;

// (batch, channels, image) with an image of the given sizes.
MaybeTensor resized(const at::Tensor& self, DimList output, bool keeps_format) {
  const size_t count = output.size(), ndim = self.dim();
  if (ndim != count + 2) return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (size_t i = 1; i < ndim; ++i)
    if (sizes[i] == 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    if (output[i] <= 0) return std::nullopt;
    sizes[i + 2] = output[i];
  }
  c10::MemoryFormat format = keeps_format ? self.suggest_memory_format()
                                          : c10::MemoryFormat::Contiguous;
  return make_tensor(sizes, format_strides(sizes, format), self.scalar_type(),
                     self.device());
}

MaybeTensor nearest1d(const at::Tensor& self, DimList output, Scale) {
  if (output.size() != 1) return std::nullopt;
  return resized(self, output, false);
}
MaybeTensor linear1d(const at::Tensor& self, DimList output, bool, Scale) {
  return nearest1d(self, output, {});
}
MaybeTensor nearest2d(const at::Tensor& self, DimList output, Scale, Scale) {
  if (output.size() != 2) return std::nullopt;
  return resized(self, output, true);
}
MaybeTensor smooth2d(const at::Tensor& self, DimList output, bool, Scale,
                     Scale) {
  return nearest2d(self, output, {}, {});
}
MaybeTensor nearest3d(const at::Tensor& self, DimList output, Scale, Scale,
                      Scale) {
  if (output.size() != 3) return std::nullopt;
  return resized(self, output, true);
}
MaybeTensor trilinear3d(const at::Tensor& self, DimList output, bool, Scale,
                        Scale, Scale) {
  return nearest3d(self, output, {}, {}, {});
}

// `padding` is (before, after).
MaybeTensor pad1d(const at::Tensor& self, DimList padding, bool reflects) {
  const size_t ndim = self.dim();
  if (padding.size() != 2 || (ndim != 2 && ndim != 3)) return std::nullopt;
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (size_t i = ndim - 2; i < ndim; ++i)
    if (sizes[i] == 0) return std::nullopt;
  Dim& length = sizes.back();
  if (reflects && (padding[0] >= length || padding[1] >= length))
    return std::nullopt;
  length += padding[0] + padding[1];
  if (length < 1) return std::nullopt;
  return make_contiguous(sizes, self.scalar_type(), self.device());
}
MaybeTensor reflection_pad1d(const at::Tensor& self, DimList padding) {
  return pad1d(self, padding, true);
}
MaybeTensor replication_pad1d(const at::Tensor& self, DimList padding) {
  return pad1d(self, padding, false);
}

// ---- Sampled and put together ----------------------------------------------

// `grid` says for each element of the result where it is taken from.
MaybeTensor sampled(const at::Tensor& self, const at::Tensor& grid, int64_t,
                    int64_t padding_mode, bool) {
  const int64_t ndim = self.dim();
  if (grid.dim() != ndim || self.device() != grid.device() ||
      self.scalar_type() != grid.scalar_type() || padding_mode > 2 ||
      !self.is_cpu() || self.sym_size(0) != grid.sym_size(0) ||
      grid.sym_size(-1) != ndim - 2) {
    return std::nullopt;
  }
  for (int64_t i = 2; i < ndim; ++i)
    if (self.sym_size(i) == 0) return std::nullopt;
  DimVec sizes{self.sym_size(0), self.sym_size(1)};
  for (int64_t i = 1; i + 1 < ndim; ++i) sizes.push_back(grid.sym_size(i));
  return make_contiguous(sizes, self.scalar_type(), self.device());
}
MaybeTensor sampled2d(const at::Tensor& self, const at::Tensor& grid,
                      int64_t mode, int64_t padding_mode, bool align) {
  if (self.dim() != 4 || mode < 0 || mode > 2) return std::nullopt;
  return sampled(self, grid, mode, padding_mode, align);
}
MaybeTensor sampled3d(const at::Tensor& self, const at::Tensor& grid,
                      int64_t mode, int64_t padding_mode, bool align) {
  if (self.dim() != 5 || mode < 0 || mode > 1) return std::nullopt;
  return sampled(self, grid, mode, padding_mode, align);
}

// The reverse of im2col: columns of blocks, added up to an image.
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

// The reverse of unfold: windows added up to what they are of.
MaybeTensor unfold_backward(const at::Tensor& self, DimList sizes, int64_t,
                            int64_t, int64_t) {
  return make_contiguous(sizes, self.scalar_type(), self.device());
}

// `output` is that of an image or volume: (batch, channels, ...).
MaybeTensor affine_grid(const at::Tensor& theta, DimList output, bool) {
  const auto count = static_cast<int64_t>(output.size()) - 2;
  if ((count != 2 && count != 3) || theta.dim() != 3 ||
      theta.sym_size(0) != output[0] || theta.sym_size(1) != count ||
      theta.sym_size(2) != count + 1) {
    return std::nullopt;
  }
  DimVec sizes{output[0]};
  for (int64_t i = 2; i < count + 2; ++i) sizes.push_back(output[i]);
  sizes.push_back(count);
  return make_contiguous(sizes, theta.scalar_type(), theta.device());
}

constexpr auto kPython = Otherwise::Python;

constexpr Rule kRules[] = {
    attempt<"aten::grid_sampler_2d", &sampled2d, kPython>(),
    attempt<"aten::grid_sampler_3d", &sampled3d, kPython>(),
    attempt<"aten::col2im", &col2im, kPython>(),
    attempt<"aten::unfold_backward", &unfold_backward, kPython>(),
    attempt<"aten::affine_grid_generator", &affine_grid,
            Otherwise::Composite>(),
    attempt<"aten::upsample_nearest1d", &nearest1d>(),
    attempt<"aten::_upsample_nearest_exact1d", &nearest1d>(),
    attempt<"aten::upsample_linear1d", &linear1d>(),
    attempt<"aten::upsample_nearest2d", &nearest2d>(),
    attempt<"aten::_upsample_nearest_exact2d", &nearest2d>(),
    attempt<"aten::upsample_bilinear2d", &smooth2d>(),
    attempt<"aten::_upsample_bilinear2d_aa", &smooth2d>(),
    attempt<"aten::upsample_bicubic2d", &smooth2d>(),
    attempt<"aten::_upsample_bicubic2d_aa", &smooth2d>(),
    attempt<"aten::_upsample_lanczos2d_aa", &smooth2d>(),
    attempt<"aten::upsample_nearest3d", &nearest3d>(),
    attempt<"aten::_upsample_nearest_exact3d", &nearest3d>(),
    attempt<"aten::upsample_trilinear3d", &trilinear3d>(),
    attempt<"aten::reflection_pad1d", &reflection_pad1d>(),
    attempt<"aten::replication_pad1d", &replication_pad1d>(),
};

}  // namespace

std::span<const Rule> resize_rules() { return kRules; }

}  // namespace magneto::tensor
