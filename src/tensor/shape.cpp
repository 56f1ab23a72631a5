// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/shape.h"

#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>

#include <algorithm>
#include <numeric>

#include "tensor/errors.h"
#include "tensor/symbol_node.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {

namespace {

// The environment of the symbols among the sizes, if there are any and all
// sizes are plainly not zero.
const EnvironmentRef* environment_of(DimList sizes) {
  const EnvironmentRef* environment = nullptr;
  for (const Dim& size : sizes) {
    if (!is_plainly_at_least(size, 1)) return nullptr;
    if (size.is_heap_allocated())
      environment = &own_node(size.toSymNodeImplUnowned())->environment();
  }
  return environment;
}

// The same as below without a number for each step. Empty if 64 bits don't hold
// one.
DimVec symbolic_strides(const EnvironmentRef& environment, DimList sizes) {
  DimVec strides(sizes.size());
  shapes::Expressions& table = environment->expressions();
  shapes::E next = table.integer(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = to_symint(environment, next);
    const shapes::E size = to_expression(environment, sizes[i]);
    next = size ? table.multiply(next, size) : nullptr;
    if (!next) return {};
    next = environment->simplify(next);
  }
  return strides;
}

}  // namespace

DimVec contiguous_strides(DimList sizes) {
  if (const EnvironmentRef* environment = environment_of(sizes)) {
    DimVec strides = symbolic_strides(*environment, sizes);
    if (!strides.empty()) return strides;
  }
  DimVec strides(sizes.size());
  Dim next = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next = multiplied(next, sizes[i].max(1));
  }
  return strides;
}

DimVec channels_last_strides(DimList sizes) {
  // Innermost first: channels, then the image from its last dimension, batch.
  DimVec strides(sizes.size());
  strides[1] = 1;
  Dim next = sizes[1];
  for (size_t i = sizes.size() - 1; i >= 2; --i) {
    strides[i] = next;
    next = multiplied(next, sizes[i]);
  }
  strides[0] = next;
  return strides;
}

DimVec format_strides(DimList sizes, c10::MemoryFormat format) {
  switch (format) {
    case c10::MemoryFormat::ChannelsLast:
      TORCH_CHECK(sizes.size() == 4,
                  "required rank 4 tensor to use channels_last format");
      return channels_last_strides(sizes);
    case c10::MemoryFormat::ChannelsLast3d:
      TORCH_CHECK(sizes.size() == 5,
                  "required rank 5 tensor to use channels_last_3d format");
      return channels_last_strides(sizes);
    default:
      return contiguous_strides(sizes);
  }
}

Dim numel(DimList sizes) {
  Dim product = 1;
  for (const Dim& size : sizes) product = multiplied(product, size);
  return product;
}

namespace {

bool is_equal(const Dim& x, const Dim& y) {
  const auto plainly = plainly_equal(x, y);
  return plainly ? *plainly : x.sym_eq(y).guard_or_false(__FILE__, __LINE__);
}

// Nothing if only the graph's run can tell.
std::optional<bool> decided_equal(const Dim& x, const Dim& y) {
  const auto plainly = plainly_equal(x, y);
  return plainly ? plainly : decided(x.sym_eq(y));
}

}  // namespace

bool is_empty(DimList sizes) {
  return std::any_of(sizes.begin(), sizes.end(),
                     [](const Dim& size) { return is_equal(size, 0); });
}

bool is_one(const Dim& size) { return is_equal(size, 1); }

bool are_equal(DimList a, DimList b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_equal);
}

namespace {

// The size that both sizes are expanded to; none if they can't be.
std::optional<Dim> broadcast(const Dim& x, const Dim& y) {
  // Asking "is it one" first keeps symbolic sizes from being compared.
  const auto x_is_one = decided_equal(x, 1);
  if (x_is_one == true) return y;
  const auto y_is_one = decided_equal(y, 1);
  if (y_is_one == true) return x;
  const auto same = decided_equal(x, y);
  if (same == true) return x;
  if (x_is_one == false && y_is_one == false)
    return must_hold(x.sym_eq(y)) ? std::optional(x) : std::nullopt;
  // If the operator doesn't raise, the result has the size that isn't one.
  if (x_is_one == false) return x;
  if (y_is_one == false) return y;
  return unbacked_size(0, x.max(y));
}

}  // namespace

DimVec broadcast(DimList a, DimList b) {
  size_t ndim = std::max(a.size(), b.size());
  DimVec shape(ndim);
  for (size_t i = 0; i < ndim; ++i) {
    size_t from_end = ndim - i;
    if (from_end > a.size()) {
      shape[i] = b[b.size() - from_end];
      continue;
    }
    const Dim& x = a[a.size() - from_end];
    if (from_end > b.size()) {
      shape[i] = x;
      continue;
    }
    const Dim& y = b[b.size() - from_end];
    const std::optional<Dim> size = broadcast(x, y);
    TORCH_CHECK(size, "The size of tensor a (", x,
                ") must match the size of tensor b (", y,
                ") at non-singleton dimension ", i);
    shape[i] = *size;
  }
  return shape;
}

bool is_dense(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false();
}

DimVec strides_like(const at::Tensor& tensor, c10::MemoryFormat format) {
  return format == c10::MemoryFormat::Preserve
             ? preserved_strides(tensor)
             : format_strides(tensor.sym_sizes(), format);
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  return at::maybe_wrap_dim(dim, ndim);
}

namespace {

enum class FastLayout { kNone, kContiguous, kChannelsLast, kSame };

// What TensorIterator answers without looking at single dimensions, when all
// operands have the output's shape.
FastLayout fast_layout(c10::ArrayRef<ElementwiseOperand> operands,
                       DimList shape) {
  bool contiguous = true, channels_last = true, dense = true;
  for (const ElementwiseOperand& operand : operands) {
    if (!are_equal(operand.sizes, shape)) return FastLayout::kNone;
    contiguous = contiguous && operand.contiguous;
    channels_last = channels_last && operand.channels_last;
    dense = dense && operand.dense;
  }
  if (contiguous) return FastLayout::kContiguous;
  if (channels_last) return FastLayout::kChannelsLast;
  if (!dense) return FastLayout::kNone;
  for (const ElementwiseOperand& operand : operands.slice(1)) {
    if (!are_equal(operand.strides, operands[0].strides))
      return FastLayout::kNone;
  }
  return FastLayout::kSame;
}

// Dimensions from the innermost to the outermost.
class DimOrder {
 public:
  DimOrder(c10::ArrayRef<ElementwiseOperand> operands, DimList shape)
      : operands_(operands), shape_(shape), order_(shape.size()) {
    std::iota(order_.rbegin(), order_.rend(), 0);
    // Insertion sort that stops at a definite answer and walks on over an
    // ambiguous one; the result depends on just that, so std::sort won't do.
    for (size_t i = 1; i < order_.size(); ++i) {
      size_t at = i;
      for (size_t j = i; j-- > 0;) {
        int order = compare(order_[j], order_[at]);
        if (order < 0) break;
        if (order > 0) {
          std::swap(order_[j], order_[at]);
          at = j;
        }
      }
    }
  }

  const c10::SmallVector<size_t, 5>& order() const { return order_; }

 private:
  static bool usually(const c10::SymBool& condition) {
    return condition.guard_size_oblivious(__FILE__, __LINE__);
  }
  static bool holds(const c10::SymBool& condition) {
    return condition.guard_or_false(__FILE__, __LINE__);
  }

  // 1: `a` must come after (outside of) `b`; -1: before; 0: undecided.
  int compare(size_t a, size_t b) const {
    for (const ElementwiseOperand& operand : operands_) {
      Dim stride_a = stride(operand, a);
      Dim stride_b = stride(operand, b);
      if (holds(stride_a.sym_eq(0)) || holds(stride_b.sym_eq(0))) continue;
      // For sizes of zero or one the order doesn't matter.
      if (usually(stride_a.sym_lt(stride_b))) return -1;
      if (usually(stride_a.sym_gt(stride_b))) return 1;
      if (stride_a != stride_b) continue;
      if (holds(shape_[a].sym_gt(shape_[b]))) return 1;
    }
    return 0;
  }

  // The stride with which the operand walks dimension `dim` of the output.
  Dim stride(const ElementwiseOperand& operand, size_t dim) const {
    size_t offset = shape_.size() - operand.sizes.size();
    if (dim < offset) return 0;
    const Dim& size = operand.sizes[dim - offset];
    if (is_one(size) && !is_one(shape_[dim])) return 0;
    return operand.strides[dim - offset];
  }

  c10::ArrayRef<ElementwiseOperand> operands_;
  DimList shape_;
  c10::SmallVector<size_t, 5> order_;
};

}  // namespace

namespace {

// Whether strides mean the same. The stride of a dimension of size one doesn't
// matter; without elements no stride does.
bool agree(DimList sizes, DimList a, DimList b) {
  bool same = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (is_empty({sizes[i]})) return true;
    same = same && (is_one(sizes[i]) || are_equal({a[i]}, {b[i]}));
  }
  return same;
}

}  // namespace

ElementwiseOperand::ElementwiseOperand(const at::Tensor& tensor)
    : sizes(tensor.sym_sizes()),
      strides(tensor.sym_strides()),
      contiguous(tensor.is_contiguous_or_false()),
      channels_last(
          tensor.is_contiguous_or_false(c10::MemoryFormat::ChannelsLast)),
      dense(is_dense(tensor)) {}

ElementwiseOperand::ElementwiseOperand(const at::Tensor& tensor,
                                       DimList temporary_strides)
    : sizes(tensor.sym_sizes()),
      strides(temporary_strides),
      contiguous(agree(sizes, strides, contiguous_strides(sizes))),
      channels_last(sizes.size() == 4 &&
                    agree(sizes, strides, channels_last_strides(sizes))),
      dense(true) {}

namespace {

// Strides that pack the elements in the order of the tensor's strides.
DimVec packed_strides(const at::Tensor& tensor) {
  DimList sizes = tensor.sym_sizes();
  auto int_sizes = c10::asIntArrayRefSlowOpt(sizes);
  auto int_strides = c10::asIntArrayRefSlowOpt(tensor.sym_strides());
  if (int_sizes && int_strides) {
    std::vector<int64_t> packed =
        at::infer_dense_strides(*int_sizes, *int_strides);
    return DimVec(packed.begin(), packed.end());
  }
  // The same for symbols.
  DimVec packed(sizes.size());
  Dim next = 1;
  const ElementwiseOperand operand(tensor);
  const DimOrder order(operand, sizes);
  for (size_t dim : order.order()) {
    packed[dim] = next;
    next = multiplied(next, sizes[dim].max(1));
  }
  return packed;
}

}  // namespace

DimVec preserved_strides(const at::Tensor& tensor) {
  DimList strides = tensor.sym_strides();
  if (is_dense(tensor)) return DimVec(strides.begin(), strides.end());
  return packed_strides(tensor);
}

DimVec elementwise_strides(c10::ArrayRef<ElementwiseOperand> operands,
                           DimList shape) {
  switch (fast_layout(operands, shape)) {
    case FastLayout::kContiguous:
      return contiguous_strides(shape);
    case FastLayout::kChannelsLast:
      return channels_last_strides(shape);
    case FastLayout::kSame:
      return DimVec(operands[0].strides.begin(), operands[0].strides.end());
    case FastLayout::kNone:
      break;
  }
  DimOrder order(operands, shape);
  size_t ndim = shape.size();
  bool inverted = true;
  for (size_t i = 0; i < ndim; ++i) {
    inverted = inverted && order.order()[i] == ndim - 1 - i;
  }
  if (inverted) return contiguous_strides(shape);
  DimVec strides(ndim);
  Dim next = 1;
  for (size_t dim : order.order()) {
    strides[dim] = next;
    next *= shape[dim];
  }
  return strides;
}

at::Tensor make_image(const at::Tensor& self, DimList sizes,
                      size_t batch_ndim) {
  c10::MemoryFormat format = sizes.size() == batch_ndim && self.is_cpu()
                                 ? self.suggest_memory_format()
                                 : c10::MemoryFormat::Contiguous;
  return make_tensor(sizes, format_strides(sizes, format), self.scalar_type(),
                     self.device());
}

}  // namespace magneto::tensor
