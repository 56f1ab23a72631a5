// SPDX-License-Identifier: BSD-3-Clause
// Reflection and replication padding.
#include "tensor/partial_rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

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

// `padding`: (before, after) for each dimension, the last one first. Reflected
// padding must be smaller than the dimension that it reflects.
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
  // The kernels for volumes keep the format of an unbatched one, too.
  return make_image(self, sizes, image_ndim == 3 ? ndim : image_ndim + 2);
}
at::Tensor replication_pad(const at::Tensor& self, DimList padding) {
  return pad(self, padding, /*reflects=*/false);
}
at::Tensor reflection_pad(const at::Tensor& self, DimList padding) {
  return pad(self, padding, /*reflects=*/true);
}

constexpr Rule kRules[] = {
    attempt<"aten::reflection_pad1d", &reflection_pad1d>(),
    attempt<"aten::replication_pad1d", &replication_pad1d>(),
    rule<&reflection_pad>("aten::reflection_pad2d"),
    rule<&reflection_pad>("aten::reflection_pad3d"),
    rule<&replication_pad>("aten::replication_pad2d"),
    rule<&replication_pad>("aten::replication_pad3d"),
};

}  // namespace

std::span<const Rule> pad_rules() { return kRules; }

}  // namespace magneto::tensor
