// SPDX-License-Identifier: BSD-3-Clause
// Operators whose result shares its argument's storage. Their in-place forms
// (`t_`, `resize_`, `set_`...) are in rules/metadata.cpp.
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/WrapDimUtils.h>

#include <algorithm>

#include "tensor/errors.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/symbol_node.h"
#include "tensor/unbacked_size.h"
#include "tensor/view_shape.h"

namespace magneto::tensor {
namespace {

at::Tensor as_view(const at::Tensor& self, const ViewShape& shape) {
  return make_view(self, shape.sizes, shape.strides, shape.offset);
}

at::Tensor alias_of(const at::Tensor& self) {
  return make_view(self, self.sym_sizes(), self.sym_strides(),
                   self.sym_storage_offset());
}

// Whether the elements lie one behind the other, so that they do in each view;
// `sizes`: the view's. Where there might be none, strides are another matter.
bool is_packed(const at::Tensor& self, DimList sizes) {
  const auto has_elements = [](const Dim& each) {
    return is_plainly_at_least(each, 1);
  };
  return self.dim() > 0 && self.sym_strides().back().maybe_as_int() == 1 &&
         std::ranges::all_of(self.sym_sizes(), has_elements) &&
         std::ranges::all_of(sizes, has_elements) &&
         self.is_contiguous_or_false();
}

at::Tensor view(const at::Tensor& self, DimList size) {
  for (const Dim& each : size) (void)is_given(each);
  c10::SymDimVector sizes = at::infer_size_dv(size, self.sym_numel());
  if (is_packed(self, sizes))
    return make_view(self, sizes, contiguous_strides(sizes),
                     self.sym_storage_offset());
  auto strides =
      at::detail::computeStride(self.sym_sizes(), self.sym_strides(), sizes);
  if (!strides &&
      (depends_on_data(sizes) || depends_on_data(self.sym_sizes()))) {
    if (!self.is_contiguous_or_false())
      throw_needs_data("whether a view of these sizes is one of the tensor");
    const DimVec plain = contiguous_strides(sizes);
    return make_view(self, sizes, plain, self.sym_storage_offset());
  }
  TORCH_CHECK(strides.has_value(),
              "view size is not compatible with input tensor's size and stride "
              "(at least one dimension spans across two contiguous subspaces). "
              "Use .reshape(...) instead.");
  return make_view(self, sizes, *strides, self.sym_storage_offset());
}

// Not a view for autograd, though the memory is the same.
at::Tensor unsafe_view(const at::Tensor& self, DimList size) {
  return view(self, size);
}

at::Tensor reshape_alias(const at::Tensor& self, DimList size, DimList stride) {
  return make_view(self, size, stride, self.sym_storage_offset());
}

at::Tensor transpose(const at::Tensor& self, int64_t dim0, int64_t dim1) {
  return as_view(self, transposed(self, dim0, dim1));
}

at::Tensor t(const at::Tensor& self) {
  return as_view(self, transposed_matrix(self));
}

at::Tensor permute(const at::Tensor& self, c10::IntArrayRef dims) {
  int64_t ndim = self.dim();
  TORCH_CHECK(ndim == static_cast<int64_t>(dims.size()),
              "permute(sparse_coo): number of dimensions in the tensor input "
              "does not match the length of the desired ordering of dimensions "
              "i.e. input.dim() = ",
              ndim, " is not equal to len(dims) = ", dims.size());
  DimVec sizes(ndim), strides(ndim);
  c10::SmallVector<bool, 8> seen(ndim, false);
  for (int64_t i = 0; i < ndim; ++i) {
    int64_t dim = wrap_dim(dims[i], ndim);
    TORCH_CHECK(!seen[dim], "permute(): duplicate dims are not allowed.");
    seen[dim] = true;
    sizes[i] = self.sym_sizes()[dim];
    strides[i] = self.sym_strides()[dim];
  }
  return make_view(self, sizes, strides, self.sym_storage_offset());
}

at::Tensor expand(const at::Tensor& self, DimList size, bool implicit) {
  int64_t ndim = self.dim();
  int64_t new_ndim = static_cast<int64_t>(size.size());
  bool scalar = ndim == 0;
  TORCH_CHECK(new_ndim >= ndim, "expand(", self.toString(), "{",
              self.sym_sizes(), "}, size=", size,
              "): the number of sizes provided (", new_ndim,
              ") must be greater or equal to the number of dimensions in the "
              "tensor (",
              ndim, ")");
  DimVec sizes(new_ndim), strides(new_ndim);
  for (int64_t i = new_ndim - 1; i >= 0; --i) {
    int64_t dim = i - (new_ndim - ndim);
    Dim own = dim >= 0 ? self.sym_sizes()[dim] : Dim(1);
    Dim wanted = size[i];
    if (!is_given(wanted)) {
      TORCH_CHECK(wanted == -1, "The expanded size of the tensor (", wanted,
                  ") isn't allowed");
      TORCH_CHECK(dim >= 0, "The expanded size of the tensor (", wanted,
                  ") isn't allowed in a leading, non-existing dimension ", i);
      wanted = own;
    }
    sizes[i] = wanted;
    if (dim >= 0) {
      strides[i] = self.sym_strides()[dim];
    } else if (scalar) {
      strides[i] = 0;
    } else {
      strides[i] = i + 1 < new_ndim ? sizes[i + 1] * strides[i + 1] : Dim(1);
    }
    if (decided(own.sym_eq(wanted)) == true) continue;
    const auto is_single = decided(own.sym_eq(1));
    TORCH_CHECK(is_single != false || must_hold(own.sym_eq(wanted)),
                "The expanded size of the tensor (", wanted,
                ") must match the existing size (", own,
                ") at non-singleton dimension ", i, ".  Target sizes: ", size,
                ".  Tensor sizes: ", self.sym_sizes());
    if (!is_single)
      strides[i] = unbacked_size(0, strides[i]);
    else if (*is_single)
      strides[i] = 0;
  }
  return make_view(self, sizes, strides, self.sym_storage_offset());
}

at::Tensor select_index(const at::Tensor& self, int64_t dim, Dim index) {
  int64_t ndim = self.dim();
  TORCH_CHECK_INDEX(ndim != 0, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, ndim);
  Dim size = self.sym_sizes()[dim];
  TORCH_CHECK_INDEX(
      must_hold(size.sym_gt(index)) && must_hold(index.sym_ge(-size)),
      "select(): index ", index, " out of range for tensor of size ",
      self.sym_sizes(), " at dimension ", dim);
  ViewShape shape(self);
  const auto is_negative = decided(index.sym_lt(0));
  if (is_negative == true) index += size;
  if (is_negative)
    shape.offset += index * shape.strides[dim];
  else
    shape.offset = unbacked_size(shape.offset);
  shape.erase(dim);
  return as_view(self, shape);
}

// The larger and the smaller of two numbers; which, only where it is decided.
Dim larger(const Dim& a, const Dim& b) {
  const auto is_less = decided(a.sym_lt(b));
  return !is_less ? a.max(b) : *is_less ? b : a;
}
Dim smaller(const Dim& a, const Dim& b) {
  const auto is_more = decided(a.sym_gt(b));
  return !is_more ? a.min(b) : *is_more ? b : a;
}

at::Tensor slice(const at::Tensor& self, int64_t dim, std::optional<Dim> start,
                 std::optional<Dim> end, Dim step) {
  int64_t ndim = self.dim();
  TORCH_CHECK_INDEX(ndim > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, ndim);
  TORCH_CHECK(step > 0, "slice step must be positive");
  ViewShape shape(self);
  Dim size = shape.sizes[dim];
  auto clamp = [&](Dim value, const Dim& least) -> std::optional<Dim> {
    const auto is_negative = decided(value.sym_lt(0));
    if (!is_negative) return {};
    if (*is_negative) value += size;
    return smaller(larger(value, least), size);
  };
  const std::optional<Dim> from = clamp(start.value_or(0), 0);
  // No end, however it is written.
  const bool open_end =
      !end || end->maybe_as_int() == std::numeric_limits<int64_t>::max();
  const std::optional<Dim> to = open_end ? size
                                : from   ? clamp(*end, *from)
                                         : std::nullopt;
  shape.offset = from ? shape.offset + *from * shape.strides[dim]
                      : unbacked_size(shape.offset);
  shape.sizes[dim] =
      from && to ? (*to - *from + step - 1) / step : unbacked_size(0, size);
  shape.strides[dim] = shape.strides[dim] * step;
  return as_view(self, shape);
}

at::Tensor unsqueeze(const at::Tensor& self, int64_t dim) {
  return as_view(self, unsqueezed(self, dim));
}
at::Tensor squeeze(const at::Tensor& self) {
  return as_view(self, squeezed(self));
}
at::Tensor squeeze_dim(const at::Tensor& self, int64_t dim) {
  return as_view(self, squeezed(self, {dim}));
}
at::Tensor squeeze_dims(const at::Tensor& self, c10::IntArrayRef dims) {
  return as_view(self, squeezed(self, dims));
}

at::Tensor narrow_view(const at::Tensor& self, int64_t dim, const Dim& start,
                       const Dim& length) {
  ViewShape shape(self);
  shape.offset += start * shape.strides[dim];
  shape.sizes[dim] = length;
  return as_view(self, shape);
}

std::vector<at::Tensor> split(const at::Tensor& self, Dim split_size,
                              int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  TORCH_CHECK(split_size >= 0,
              "split expects split_size be non-negative, but got split_size=",
              split_size);
  dim = wrap_dim(dim, self.dim());
  Dim size = self.sym_sizes()[dim];
  TORCH_CHECK(split_size > 0 || size == 0,
              "split_size can only be 0 if dimension size is 0, but got "
              "dimension size of ",
              size);
  int64_t count = 1;
  if (split_size != 0) {
    Dim pieces = (size + split_size - 1) / split_size;
    count = std::max<int64_t>(pieces.guard_int(__FILE__, __LINE__), 1);
  }
  std::vector<at::Tensor> result;
  result.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    Dim start = split_size * i;
    Dim length = i + 1 < count ? split_size : size - start;
    result.push_back(narrow_view(self, dim, start, length));
  }
  return result;
}

std::vector<at::Tensor> split_with_sizes(const at::Tensor& self,
                                         DimList split_sizes, int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, self.dim());
  Dim start = 0;
  std::vector<at::Tensor> result;
  result.reserve(split_sizes.size());
  for (const Dim& length : split_sizes) {
    TORCH_CHECK(must_hold(length.sym_ge(0)),
                "split_with_sizes expects split_sizes have only non-negative "
                "entries, but got split_sizes=",
                split_sizes);
    result.push_back(narrow_view(self, dim, start, length));
    start += length;
  }
  TORCH_CHECK(must_hold(start.sym_eq(self.sym_sizes()[dim])),
              "split_with_sizes expects split_sizes to sum exactly to ",
              self.sym_sizes()[dim], " (input tensor's size at dimension ", dim,
              "), but got split_sizes=", split_sizes);
  return result;
}

std::vector<at::Tensor> unbind(const at::Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  TORCH_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dim,
                    " but tensor has no dimensions");
  int64_t count = self.sym_sizes()[dim].guard_int(__FILE__, __LINE__);
  std::vector<at::Tensor> result;
  result.reserve(count);
  for (int64_t i = 0; i < count; ++i)
    result.push_back(select_index(self, dim, i));
  return result;
}

at::Tensor as_strided(const at::Tensor& self, DimList size, DimList stride,
                      std::optional<Dim> storage_offset) {
  TORCH_CHECK(size.size() == stride.size(),
              "mismatch in length of strides and shape");
  Dim offset = storage_offset.value_or(self.sym_storage_offset());
  for (const Dim& each : size)
    TORCH_CHECK(must_hold(each.sym_ge(0)),
                "Storage size calculation overflowed with sizes=", size,
                " and strides=", stride);
  check_in_storage(self, size, stride, offset);
  return make_view(self, size, stride, offset);
}

at::Tensor diagonal(const at::Tensor& self, int64_t offset, int64_t dim1,
                    int64_t dim2) {
  int64_t ndim = self.dim();
  dim1 = wrap_dim(dim1, ndim);
  dim2 = wrap_dim(dim2, ndim);
  TORCH_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", dim1,
              ", ", dim2);
  ViewShape shape(self);
  Dim length = offset >= 0
                   ? shape.sizes[dim1].min(shape.sizes[dim2] - offset)
                   : (shape.sizes[dim1] + offset).min(shape.sizes[dim2]);
  length = length.max(0);
  if (length != 0) {
    shape.offset += offset >= 0 ? shape.strides[dim2] * offset
                                : shape.strides[dim1] * -offset;
  }
  Dim stride = shape.strides[dim1] + shape.strides[dim2];
  shape.erase(std::max(dim1, dim2));
  shape.erase(std::min(dim1, dim2));
  shape.sizes.push_back(length);
  shape.strides.push_back(stride);
  return as_view(self, shape);
}

at::Tensor unfold(const at::Tensor& self, int64_t dimension, int64_t size,
                  int64_t step) {
  int64_t ndim = self.dim();
  dimension = at::maybe_wrap_dim(dimension, ndim, /*wrap_scalar=*/true);
  ViewShape shape(self);
  Dim extent = ndim == 0 ? Dim(1) : shape.sizes[dimension];
  TORCH_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  TORCH_CHECK(extent >= size, "maximum size for tensor at dimension ",
              dimension, " is ", extent, " but size is ", size);
  TORCH_CHECK(step > 0, "step is ", step, " but must be > 0");
  if (ndim == 0) {
    shape.sizes.push_back(size);
    shape.strides.push_back(1);
    return as_view(self, shape);
  }
  shape.sizes.push_back(size);
  shape.strides.push_back(shape.strides[dimension]);
  shape.sizes[dimension] = (extent - size) / step + 1;
  shape.strides[dimension] = shape.strides[dimension] * step;
  return as_view(self, shape);
}

at::Tensor view_as_real(const at::Tensor& self) {
  TORCH_CHECK(self.is_complex(),
              "view_as_real is only supported for complex tensors");
  TORCH_CHECK(!self.is_conj(),
              "view_as_real doesn't work on unresolved conjugated tensors.  To "
              "resolve the conjugate tensor so you can view it as real, use "
              "self.resolve_conj(); however, be warned that the resulting "
              "tensor will NOT alias the original.");
  ViewShape shape(self);
  for (Dim& stride : shape.strides) stride *= 2;
  shape.sizes.push_back(2);
  shape.strides.push_back(1);
  return make_view(self, shape.sizes, shape.strides, shape.offset * 2,
                   c10::toRealValueType(self.scalar_type()));
}

at::Tensor view_as_complex(const at::Tensor& self) {
  TORCH_CHECK(at::isFloatingType(self.scalar_type()) &&
                  self.scalar_type() != at::kBFloat16,
              "view_as_complex is only supported for half, float and double "
              "tensors, but got a tensor of scalar type: ",
              self.scalar_type());
  TORCH_CHECK(self.dim() != 0, "Input tensor must have one or more dimensions");
  ViewShape shape(self);
  TORCH_CHECK(shape.sizes.back() == 2,
              "Tensor must have a last dimension of size 2");
  TORCH_CHECK(shape.strides.back() == 1,
              "Tensor must have a last dimension with stride 1");
  shape.sizes.pop_back();
  shape.strides.pop_back();
  for (Dim& stride : shape.strides) {
    TORCH_CHECK(stride % 2 == 0,
                "Tensor must have a stride divisible by 2 for all but last "
                "dimension");
    stride = stride / 2;
  }
  TORCH_CHECK(shape.offset % 2 == 0,
              "Tensor must have a storage_offset divisible by 2");
  return make_view(self, shape.sizes, shape.strides, shape.offset / 2,
                   c10::toComplexType(self.scalar_type()));
}

at::Tensor view_dtype(const at::Tensor& self, c10::ScalarType dtype) {
  TORCH_CHECK(!self.is_conj() && !self.is_neg(),
              "torch.Tensor.view is not supported for conjugate view or "
              "negative view tensors when converting to a different dtype.");
  if (dtype == self.scalar_type()) return alias_of(self);
  int64_t from = static_cast<int64_t>(self.element_size());
  int64_t to = static_cast<int64_t>(c10::elementSize(dtype));
  ViewShape shape(self);
  if (from == to) {
    return make_view(self, shape.sizes, shape.strides, shape.offset, dtype);
  }
  TORCH_CHECK(self.dim() != 0, "self.dim() cannot be 0 to view ",
              self.scalar_type(), " as ", dtype, " (different element sizes)");
  TORCH_CHECK(shape.strides.back() == 1 || shape.sizes.back() == 1,
              "self.stride(-1) must be 1 to view ", self.scalar_type(), " as ",
              dtype, " (different element sizes), but got ",
              shape.strides.back());
  size_t last = shape.sizes.size() - 1;
  if (from > to) {
    int64_t ratio = from / to;
    for (size_t i = 0; i < last; ++i) shape.strides[i] *= ratio;
    shape.sizes[last] *= ratio;
    shape.offset *= ratio;
  } else {
    int64_t ratio = to / from;
    TORCH_CHECK(shape.sizes[last] % ratio == 0,
                "self.size(-1) must be divisible by ", ratio, " to view ",
                self.scalar_type(), " as ", dtype,
                " (different element sizes), but got ", shape.sizes[last]);
    TORCH_CHECK(shape.offset % ratio == 0,
                "self.storage_offset() must be divisible by ", ratio,
                " to view ", self.scalar_type(), " as ", dtype,
                " (different element sizes), but got ", shape.offset);
    for (size_t i = 0; i < last; ++i) {
      TORCH_CHECK(shape.strides[i] % ratio == 0, "self.stride(", i,
                  ") must be divisible by ", ratio, " to view ",
                  self.scalar_type(), " as ", dtype,
                  " (different element sizes), but got ", shape.strides[i]);
      shape.strides[i] = shape.strides[i] / ratio;
    }
    shape.sizes[last] = shape.sizes[last] / ratio;
    shape.offset = shape.offset / ratio;
  }
  shape.strides[last] = 1;
  return make_view(self, shape.sizes, shape.strides, shape.offset, dtype);
}

at::Tensor flip_key(const at::Tensor& self, c10::DispatchKey key) {
  at::Tensor result = alias_of(self);
  auto* impl = static_cast<FakeImpl*>(result.unsafeGetTensorImpl());
  impl->set_keys(self.key_set().has(key) ? self.key_set().remove(key)
                                         : self.key_set().add(key));
  return result;
}
at::Tensor conj_view(const at::Tensor& self) {
  TORCH_CHECK(self.is_complex(), "_conj is only supported for complex tensors");
  return flip_key(self, c10::DispatchKey::Conjugate);
}
at::Tensor neg_view(const at::Tensor& self) {
  return flip_key(self, c10::DispatchKey::Negative);
}

constexpr Rule kRules[] = {
    rule<&alias_of>("aten::alias"),
    rule<&alias_of>("aten::detach"),
    rule<&alias_of>("aten::lift"),
    rule<&alias_of>("aten::lift_fresh"),
    rule<&view>("aten::view"),
    rule<&view_dtype>("aten::view.dtype"),
    rule<&unsafe_view>("aten::_unsafe_view"),
    rule<&reshape_alias>("aten::_reshape_alias"),
    rule<&t>("aten::t"),
    rule<&transpose>("aten::transpose.int"),
    rule<&permute>("aten::permute"),
    rule<&expand>("aten::expand"),
    rule<&select_index>("aten::select.int"),
    rule<&slice>("aten::slice.Tensor"),
    rule<&unsqueeze>("aten::unsqueeze"),
    rule<&squeeze>("aten::squeeze"),
    rule<&squeeze_dim>("aten::squeeze.dim"),
    rule<&squeeze_dims>("aten::squeeze.dims"),
    rule<&split>("aten::split.Tensor"),
    rule<&split_with_sizes>("aten::split_with_sizes"),
    rule<&unbind>("aten::unbind.int"),
    rule<&as_strided>("aten::as_strided"),
    rule<&diagonal>("aten::diagonal"),
    rule<&unfold>("aten::unfold"),
    rule<&view_as_real>("aten::view_as_real"),
    rule<&view_as_complex>("aten::view_as_complex"),
    rule<&conj_view>("aten::_conj"),
    rule<&neg_view>("aten::_neg_view"),
};

}  // namespace

std::span<const Rule> view_rules() { return kRules; }

}  // namespace magneto::tensor
