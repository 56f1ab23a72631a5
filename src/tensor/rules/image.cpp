// SPDX-License-Identifier: BSD-3-Clause
// Pooling, padding and shuffling of images, where torch's own shape function
// isn't enough: on the CPU these keep the memory format of their input.
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

// A batch of images in the input's memory format, a single one contiguous.
at::Tensor image(const at::Tensor& self, DimList sizes, size_t batch_ndim) {
  c10::MemoryFormat format = sizes.size() == batch_ndim && self.is_cpu()
                                 ? self.suggest_memory_format()
                                 : c10::MemoryFormat::Contiguous;
  return make_tensor(sizes, format_strides(sizes, format), self.scalar_type(),
                     self.device());
}

// `padding` is (before, after) from the last dimension backwards. Reflected
// padding must be smaller than what it reflects.
at::Tensor pad(const at::Tensor& self, DimList padding, bool reflects) {
  size_t image_ndim = padding.size() / 2, ndim = self.dim();
  TORCH_CHECK(ndim == image_ndim + 1 || ndim == image_ndim + 2, "Expected ",
              image_ndim + 1, "D or ", image_ndim + 2,
              "D (batch mode) tensor with possibly 0 batch size and other "
              "non-zero dimensions for input, but got: ",
              self.sym_sizes());
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (size_t i = 0; i < image_ndim; ++i) {
    Dim& size = sizes[ndim - 1 - i];
    const Dim &before = padding[2 * i], &after = padding[2 * i + 1];
    TORCH_CHECK(!reflects || (before < size && after < size),
                "Argument #4: Padding size should be less than the "
                "corresponding input dimension, but got: padding (",
                before, ", ", after, ") at dimension ", ndim - 1 - i,
                " of input ", self.sym_sizes());
    size += before + after;
    TORCH_CHECK(size >= 1, "input ", self.sym_sizes(),
                " is too small. Calculated output size: ", size);
  }
  // Kernels for volumes take a single one in its format too.
  return image(self, sizes, image_ndim == 3 ? ndim : image_ndim + 2);
}
at::Tensor replication_pad(const at::Tensor& self, DimList padding) {
  return pad(self, padding, /*reflects=*/false);
}
at::Tensor reflection_pad(const at::Tensor& self, DimList padding) {
  return pad(self, padding, /*reflects=*/true);
}

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
  return image(self, sizes, 4);
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
  // Torch gives an empty image back as it is.
  if (self.is_cpu() && self.sym_numel() == 0) {
    return make_tensor(self.sym_sizes(), preserved_strides(self),
                       self.scalar_type(), self.device());
  }
  sizes[ndim - 3] *= factor * factor;
  sizes[ndim - 2] = sizes[ndim - 2] / factor;
  sizes[ndim - 1] = sizes[ndim - 1] / factor;
  return image(self, sizes, 4);
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
  return image(self, self.sym_sizes(), self.dim());
}

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
  return image(self, sizes, 4);
}

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

constexpr Rule kRules[] = {
    rule<&im2col>("aten::im2col"),
    rule<&adaptive_avg_pool2d>("aten::_adaptive_avg_pool2d"),
    rule<&adaptive_avg_pool3d>("aten::_adaptive_avg_pool3d"),
    rule<&replication_pad>("aten::replication_pad2d"),
    rule<&replication_pad>("aten::replication_pad3d"),
    rule<&reflection_pad>("aten::reflection_pad2d"),
    rule<&reflection_pad>("aten::reflection_pad3d"),
    rule<&pixel_shuffle>("aten::pixel_shuffle"),
    rule<&pixel_unshuffle>("aten::pixel_unshuffle"),
    rule<&channel_shuffle>("aten::channel_shuffle"),
    rule<&max_unpool2d>("aten::max_unpool2d"),
};

}  // namespace

std::span<const Rule> image_rules() { return kRules; }

}  // namespace magneto::tensor
