// SPDX-License-Identifier: BSD-3-Clause
// In-place operators that change a tensor's shape, strides or storage rather
// than its elements. The fallback has left an undo record before it gets here.
#include "support/check.h"
#include "tensor/errors.h"
#include "tensor/metadata_log.h"
#include "tensor/out_variants.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/view_shape.h"

namespace magneto::tensor {
namespace {

using Format = std::optional<c10::MemoryFormat>;

at::Tensor become(const at::Tensor& self, const ViewShape& shape) {
  self.unsafeGetTensorImpl()->set_sizes_and_strides(shape.sizes, shape.strides,
                                                    shape.offset);
  return self;
}

at::Tensor t_inplace(const at::Tensor& self) {
  return become(self, transposed_matrix(self));
}
at::Tensor transpose_inplace(const at::Tensor& self, int64_t dim0,
                             int64_t dim1) {
  return become(self, transposed(self, dim0, dim1));
}
at::Tensor unsqueeze_inplace(const at::Tensor& self, int64_t dim) {
  return become(self, unsqueezed(self, dim));
}
at::Tensor squeeze_inplace(const at::Tensor& self) {
  return become(self, squeezed(self));
}
at::Tensor squeeze_dim_inplace(const at::Tensor& self, int64_t dim) {
  return become(self, squeezed(self, {dim}));
}
at::Tensor squeeze_dims_inplace(const at::Tensor& self, c10::IntArrayRef dims) {
  return become(self, squeezed(self, dims));
}
at::Tensor as_strided_inplace(const at::Tensor& self, DimList size,
                              DimList stride, std::optional<Dim> offset) {
  Dim start = offset.value_or(self.sym_storage_offset());
  check_in_storage(self, size, stride, start);
  self.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, start);
  return self;
}

at::Tensor resize(const at::Tensor& self, DimList size, Format format) {
  for (const Dim& each : size) {
    TORCH_CHECK(each >= 0, "Trying to create tensor with negative dimension ",
                each, ": ", size);
  }
  bool same = self.sym_sizes().equals(size);
  if (same && !format) return self;
  DimVec strides =
      same ? DimVec(self.sym_strides().begin(), self.sym_strides().end())
           : contiguous_strides(size);
  if (format) {
    TORCH_CHECK(*format != c10::MemoryFormat::Preserve,
                "Unsupported memory format", *format);
    strides = format_strides(size, *format);
  }
  resize_tensor(self, size, strides);
  return self;
}
at::Tensor resize_like(const at::Tensor& self, const at::Tensor& other,
                       Format format) {
  if (format == c10::MemoryFormat::Preserve) {
    format = other.suggest_memory_format();
  }
  return resize(self, other.sym_sizes(), format);
}
at::Tensor resize_output(const at::Tensor& self, DimList size, c10::Device) {
  return resize(self, size, std::nullopt);
}

at::Tensor adopt(const at::Tensor& self, const c10::Storage& storage,
                 const Dim& offset, DimList size, DimList stride) {
  if (!refuses_data(storage.unsafeGetStorageImpl())) {
    throw_needs_data("set_() to a storage that the trace doesn't know");
  }
  auto* impl = dynamic_cast<FakeImpl*>(self.unsafeGetTensorImpl());
  MG_CHECK(impl, "a tensor that was prepared for writing is a FakeImpl");
  impl->set_storage(storage);
  impl->set_sizes_and_strides(size, stride, offset);
  return self;
}

at::Tensor set_nothing(const at::Tensor& self) {
  DimVec size{Dim(0)}, stride{Dim(1)};
  return adopt(self, make_storage(0, self.device()), 0, size, stride);
}
at::Tensor set_storage(const at::Tensor& self, c10::Storage source) {
  Dim length = source.sym_nbytes() / static_cast<int64_t>(self.itemsize());
  return adopt(self, source, 0, DimVec{length}, DimVec{Dim(1)});
}
at::Tensor set_storage_view(const at::Tensor& self, c10::Storage source,
                            Dim offset, DimList size, DimList stride) {
  DimVec strides = stride.empty() && !size.empty()
                       ? contiguous_strides(size)
                       : DimVec(stride.begin(), stride.end());
  return adopt(self, source, offset, size, strides);
}
at::Tensor set_tensor(const at::Tensor& self, const at::Tensor& source) {
  ViewShape shape(source);
  return adopt(self, source.unsafeGetTensorImpl()->unsafe_storage(),
               shape.offset, shape.sizes, shape.strides);
}

at::Tensor stays(const at::Tensor& self) { return self; }

constexpr Rule kRules[] = {
    rule<&t_inplace>("aten::t_"),
    rule<&transpose_inplace>("aten::transpose_"),
    rule<&unsqueeze_inplace>("aten::unsqueeze_"),
    rule<&squeeze_inplace>("aten::squeeze_"),
    rule<&squeeze_dim_inplace>("aten::squeeze_.dim"),
    rule<&squeeze_dims_inplace>("aten::squeeze_.dims"),
    rule<&as_strided_inplace>("aten::as_strided_"),
    rule<&resize>("aten::resize_"),
    rule<&resize_like>("aten::resize_as_"),
    rule<&resize_output>("aten::_resize_output_"),
    rule<&set_nothing>("aten::set_"),
    rule<&set_storage>("aten::set_.source_Storage"),
    rule<&set_storage_view>("aten::set_.source_Storage_storage_offset"),
    rule<&set_tensor>("aten::set_.source_Tensor"),
    rule<&stays>("aten::detach_"),
};

}  // namespace

std::span<const Rule> metadata_rules() { return kRules; }

}  // namespace magneto::tensor
