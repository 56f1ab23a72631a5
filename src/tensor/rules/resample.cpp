// SPDX-License-Identifier: BSD-3-Clause
// Resampling: images are scaled to other sizes, sampled at the points of a
// grid, and their pixels and channels are shuffled.
#include "tensor/partial_rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

// ---- Upsampling ------------------------------------------------------------

using Scale = std::optional<double>;

// `self` is (batch, channels, ...); `output`: the sizes of an image.
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

// ---- Sampling at the points of a grid --------------------------------------

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

// `output`: the sizes of a batch of images or volumes (batch, channels, ...).
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

// ---- Shuffling pixels and channels -----------------------------------------

at::Tensor pixel_shuffle(const at::Tensor& self, int64_t factor) {
  int64_t ndim = self.dim();
  TORCH_CHECK(ndim >= 3,
              "pixel_shuffle expects input to have at least 3 "
              "dimensions, but got input with ",
              ndim, " dimension(s)");
  TORCH_CHECK(factor > 0,
              "pixel_shuffle expects a positive upscale_factor, but got ",
              factor);
  int64_t square = 0;
  TORCH_CHECK(!__builtin_mul_overflow(factor, factor, &square),
              "upscale factor is too large, (upscale_factor)^2 overflowed: "
              "upscale_factor=",
              factor);
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  TORCH_CHECK(sizes[ndim - 3] % square == 0,
              "pixel_shuffle expects its input's 'channel' dimension to be "
              "divisible by the square of upscale_factor, but "
              "input.size(-3)=",
              sizes[ndim - 3], " is not divisible by ", square);
  sizes[ndim - 3] = sizes[ndim - 3] / square;
  sizes[ndim - 2] *= factor;
  sizes[ndim - 1] *= factor;
  return make_image(self, sizes, 4);
}
at::Tensor pixel_unshuffle(const at::Tensor& self, int64_t factor) {
  int64_t ndim = self.dim();
  TORCH_CHECK(ndim >= 3,
              "pixel_unshuffle expects input to have at least 3 "
              "dimensions, but got input with ",
              ndim, " dimension(s)");
  TORCH_CHECK(factor > 0,
              "pixel_unshuffle expects a positive downscale_factor, but got ",
              factor);
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (int64_t i : {ndim - 2, ndim - 1}) {
    TORCH_CHECK(sizes[i] % factor == 0,
                "pixel_unshuffle expects height and width to be divisible by "
                "downscale_factor, but input.size(",
                i, ")=", sizes[i], " is not divisible by ", factor);
  }
  // Torch returns an empty image as it is.
  if (self.is_cpu() && self.sym_numel() == 0) {
    return make_tensor(self.sym_sizes(), preserved_strides(self),
                       self.scalar_type(), self.device());
  }
  sizes[ndim - 3] *= factor * factor;
  sizes[ndim - 2] = sizes[ndim - 2] / factor;
  sizes[ndim - 1] = sizes[ndim - 1] / factor;
  return make_image(self, sizes, 4);
}
at::Tensor channel_shuffle(const at::Tensor& self, Dim groups) {
  TORCH_CHECK(self.dim() > 2,
              "channel_shuffle expects input with > 2 dims, but got input with "
              "sizes ",
              self.sym_sizes());
  TORCH_CHECK(groups > 0,
              "Number of groups to divide channels in must be "
              "positive. Value of groups:",
              groups);
  TORCH_CHECK(self.sym_size(1) % groups == 0,
              "Number of channels must be divisible by groups. Got ",
              self.sym_size(1), " channels and ", groups, " groups.");
  return make_image(self, self.sym_sizes(), self.dim());
}

constexpr Rule kRules[] = {
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
    attempt<"aten::grid_sampler_2d", &sampled2d, Otherwise::Python>(),
    attempt<"aten::grid_sampler_3d", &sampled3d, Otherwise::Python>(),
    attempt<"aten::affine_grid_generator", &affine_grid,
            Otherwise::Composite>(),
    rule<&pixel_shuffle>("aten::pixel_shuffle"),
    rule<&pixel_unshuffle>("aten::pixel_unshuffle"),
    rule<&channel_shuffle>("aten::channel_shuffle"),
};

}  // namespace

std::span<const Rule> resample_rules() { return kRules; }

}  // namespace magneto::tensor
