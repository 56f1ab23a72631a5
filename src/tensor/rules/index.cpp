// SPDX-License-Identifier: BSD-3-Clause
// Gathering by index, and putting tensors together.
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/TypeProperties.h>

#include "tensor/elementwise.h"
#include "tensor/fill_checks.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using TensorIndices = const c10::List<std::optional<at::Tensor>>&;

bool is_index_type(const at::Tensor& index) {
  return index.scalar_type() == at::kLong || index.scalar_type() == at::kInt;
}

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices, Dim,
                     bool, bool) {
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  TORCH_CHECK(is_index_type(indices),
              "Expected tensor for argument #1 'indices' to have one of the "
              "following scalar types: Long, Int; but got ",
              indices.toString(),
              " instead (while checking arguments for embedding)");
  DimVec sizes(indices.sym_sizes().begin(), indices.sym_sizes().end());
  sizes.push_back(weight.sym_size(1));
  return make_contiguous(sizes, weight.scalar_type(), weight.device());
}

at::Tensor index_select(const at::Tensor& self, int64_t dim,
                        const at::Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  TORCH_CHECK_INDEX(index.dim() <= 1,
                    "index_select(): Index is supposed to be a vector");
  TORCH_CHECK(is_index_type(index),
              "index_select(): Expected dtype int32 or int64 for index");
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  if (!sizes.empty()) sizes[dim] = index.sym_numel();
  TORCH_CHECK(!sizes.empty() || must_hold(index.sym_numel().sym_eq(1)),
              "index_select(): Index to scalar can have only 1 value, got ",
              index.sym_numel(), " value(s)");
  return make_contiguous(sizes, self.scalar_type(), self.device());
}

at::Tensor gather(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                  bool) {
  dim = wrap_dim(dim, self.dim());
  if (!is_empty(index.sym_sizes())) {
    TORCH_CHECK(is_index_type(index),
                "gather(): Expected dtype int32/int64 for index");
    TORCH_CHECK(
        std::max<int64_t>(self.dim(), 1) == std::max<int64_t>(index.dim(), 1),
        "Index tensor must have the same number of dimensions as input "
        "tensor");
    for (int64_t i = 0; i < self.dim(); ++i) {
      TORCH_CHECK(i == dim || index.dim() == 0 ||
                      must_hold(index.sym_size(i).sym_le(self.sym_size(i))),
                  "Size does not match at dimension ", i, " expected index ",
                  index.sym_sizes(), " to be no larger than self ",
                  self.sym_sizes(), " apart from dimension ", dim);
    }
  }
  return make_contiguous(index.sym_sizes(), self.scalar_type(), self.device());
}

// Which of a tensor's dimensions are indexed. In the result, the broadcast
// shape of the indices replaces these dimensions: where the first one was if
// they are adjacent, else in front.
struct Indexing {
  DimVec shape;                      // of the indices
  c10::SmallVector<size_t, 5> kept;  // dimensions without an index
  size_t place = 0;                  // of `shape`, among those
};

Indexing indexing_of(const at::Tensor& self, TensorIndices indices) {
  Indexing indexing;
  bool any = false, ended = false, apart = false;
  for (size_t i = 0; i < static_cast<size_t>(self.dim()); ++i) {
    std::optional<at::Tensor> index;
    if (i < indices.size()) index = indices.get(i);
    if (!index || !index->defined()) {
      ended = any;
      indexing.kept.push_back(i);
      continue;
    }
    apart = apart || ended;
    if (!any) indexing.place = i;
    any = true;
    indexing.shape = broadcast(indexing.shape, index->sym_sizes());
  }
  if (apart) indexing.place = 0;
  return indexing;
}

// The shape of self[indices].
DimVec indexed_sizes(const at::Tensor& self, TensorIndices indices) {
  TORCH_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(),
                    " (got ", indices.size(), ")");
  const Indexing indexing = indexing_of(self, indices);
  DimVec sizes;
  for (size_t dim : indexing.kept) sizes.push_back(self.sym_sizes()[dim]);
  sizes.insert(sizes.begin() + indexing.place, indexing.shape.begin(),
               indexing.shape.end());
  return sizes;
}

bool is_mask(const at::Tensor& index) {
  return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
}

void check_index(const at::Tensor& index) {
  TORCH_CHECK_INDEX(is_index_type(index) || is_mask(index),
                    "tensors used as indices must be long, int, byte or bool "
                    "tensors");
}

// Masks become what they stand for: for each of their dimensions an index with
// as many elements as are true.
c10::List<std::optional<at::Tensor>> without_masks(const at::Tensor& self,
                                                   TensorIndices indices) {
  c10::List<std::optional<at::Tensor>> plain;
  for (std::optional<at::Tensor> index : indices) {
    if (!index || !index->defined()) {
      plain.push_back(std::nullopt);
      continue;
    }
    check_index(*index);
    if (!is_mask(*index)) {
      plain.push_back(index);
      continue;
    }
    const Dim count = unbacked_size(0, index->sym_numel());
    for (int64_t i = 0; i < index->dim(); ++i) {
      const auto dim = static_cast<int64_t>(plain.size());
      TORCH_CHECK_INDEX(
          dim < self.dim() &&
              must_hold(index->sym_sizes()[i].sym_eq(self.sym_sizes()[dim])),
          "The shape of the mask ", index->sym_sizes(), " at index ", i,
          " does not match the shape of the indexed tensor ", self.sym_sizes(),
          " at index ", dim);
      plain.push_back(make_contiguous({count}, at::kLong, index->device()));
    }
  }
  return plain;
}

// self[indices] laid out as by a TensorIterator over the tensor, which stands
// still along the dimensions that come from the indices, and the indices, which
// stand still along the others.
at::Tensor index_strided(const at::Tensor& self, TensorIndices indices,
                         DimList sizes) {
  const Indexing indexing = indexing_of(self, indices);
  const auto& [shape, kept, place] = indexing;
  const size_t after = kept.size() - place;
  DimVec steps;
  for (size_t dim : kept) steps.push_back(self.sym_strides()[dim]);
  DimVec still(shape.size(), Dim(0));
  steps.insert(steps.begin() + place, still.begin(), still.end());
  TensorVec walked{make_view(self, sizes, steps, 0)};
  for (std::optional<at::Tensor> index : indices) {
    if (!index || !index->defined()) continue;
    DimVec wide(place, Dim(1)), wide_steps(sizes.size(), Dim(0));
    wide.append(shape.begin(), shape.end());
    wide.append(after, Dim(1));
    const size_t missing = shape.size() - static_cast<size_t>(index->dim());
    for (size_t i = missing; i < shape.size(); ++i)
      if (!is_one(index->sym_sizes()[i - missing]))
        wide_steps[place + i] = index->sym_strides()[i - missing];
    walked.push_back(make_view(*index, wide, wide_steps, 0));
  }
  c10::SmallVector<ElementwiseOperand, 4> operands;
  for (const at::Tensor& each : walked) operands.emplace_back(each);
  return make_tensor(sizes, elementwise_strides(operands, sizes),
                     self.scalar_type(), self.device());
}

// Where everything is contiguous, so is the result.
void index_tensor(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  const at::Tensor& self = args[0].toTensor();
  auto indices = without_masks(self, args[1].toOptionalTensorList());
  bool contiguous = self.is_contiguous_or_false();
  for (std::optional<at::Tensor> index : indices) {
    if (!index || !index->defined()) continue;
    contiguous = contiguous && index->is_contiguous_or_false();
  }
  DimVec sizes = indexed_sizes(self, indices);
  if (contiguous) {
    outputs.emplace_back(
        make_contiguous(sizes, self.scalar_type(), self.device()));
  } else if (is_empty(sizes) || is_empty(self.sym_sizes())) {
    static const RuleFn structured = structured_rule("aten::index.Tensor");
    structured(op, args, outputs);
  } else {
    outputs.emplace_back(index_strided(self, indices, sizes));
  }
}

void check_index_put(const at::Tensor& self, TensorIndices indices,
                     const at::Tensor& values) {
  for (std::optional<at::Tensor> index : indices)
    if (index && index->defined()) check_index(*index);
  TORCH_CHECK_INDEX(self.scalar_type() == values.scalar_type(),
                    "Index put requires the source and destination dtypes "
                    "match, got ",
                    self.scalar_type(), " for the destination and ",
                    values.scalar_type(), " for the source.");
}

at::Tensor index_put(const at::Tensor& self, TensorIndices indices,
                     const at::Tensor& values, bool) {
  check_index_put(self, indices, values);
  return make_tensor(self.sym_sizes(), preserved_strides(self),
                     self.scalar_type(), self.device());
}

// In place; and the same with a flag more.
void index_put_into(const OpInfo&, c10::IValue* args, Outputs& outputs) {
  check_index_put(args[0].toTensor(), args[1].toOptionalTensorList(),
                  args[2].toTensor());
  outputs.push_back(args[0]);
}

at::Tensor masked_fill(const at::Tensor& self, const at::Tensor& mask) {
  check_fill_mask(mask);
  return make_contiguous(broadcast(self.sym_sizes(), mask.sym_sizes()),
                         self.scalar_type(), self.device());
}
at::Tensor masked_fill_number(const at::Tensor& self, const at::Tensor& mask,
                              const c10::Scalar&) {
  return masked_fill(self, mask);
}
at::Tensor masked_fill_tensor(const at::Tensor& self, const at::Tensor& mask,
                              const at::Tensor& value) {
  check_fill_value(value);
  return masked_fill(self, mask);
}

// ---- Putting together ------------------------------------------------------

// An empty vector among tensors of other shapes is ignored.
bool is_overlooked(const at::Tensor& tensor) {
  return tensor.dim() == 1 && is_empty(tensor.sym_sizes());
}

// Channels last only if all tensors are.
c10::MemoryFormat common_format(at::TensorList tensors) {
  c10::MemoryFormat format = tensors[0].suggest_memory_format();
  for (const at::Tensor& tensor : tensors) {
    if (tensor.suggest_memory_format() != format) {
      return c10::MemoryFormat::Contiguous;
    }
  }
  return format;
}

at::Tensor cat(at::TensorList tensors, int64_t dim) {
  TORCH_CHECK_VALUE(!tensors.empty(), "expected a non-empty list of Tensors");
  const at::Tensor* first = nullptr;
  for (const at::Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.dim() > 0, "zero-dimensional tensor (at position ",
                &tensor - &tensors[0], ") cannot be concatenated");
    if (!first && !is_overlooked(tensor)) first = &tensor;
  }
  c10::ScalarType type = at::native::result_type(at::ITensorListRef(tensors));
  c10::Device device = common_device(tensors);
  if (!first) return make_contiguous(DimVec{0}, type, device);
  dim = wrap_dim(dim, first->dim());
  DimVec sizes(first->sym_sizes().begin(), first->sym_sizes().end());
  sizes[dim] = 0;
  for (const at::Tensor& tensor : tensors) {
    if (is_overlooked(tensor)) continue;
    TORCH_CHECK(tensor.dim() == first->dim(),
                "Tensors must have same number of dimensions: got ",
                first->dim(), " and ", tensor.dim());
    for (int64_t i = 0; i < first->dim(); ++i) {
      TORCH_CHECK(
          i == dim || must_hold(tensor.sym_size(i).sym_eq(first->sym_size(i))),
          "Sizes of tensors must match except in dimension ", dim,
          ". Expected size ", first->sym_size(i), " but got size ",
          tensor.sym_size(i), " for tensor number ", &tensor - &tensors[0],
          " in the list.");
    }
    sizes[dim] += tensor.sym_size(dim);
  }
  return make_tensor(sizes, format_strides(sizes, common_format(tensors)), type,
                     device);
}

at::Tensor repeat(const at::Tensor& self, DimList repeats) {
  size_t ndim = self.dim();
  TORCH_CHECK(repeats.size() >= ndim,
              "Number of dimensions of repeat dims can not be smaller than "
              "number of dimensions of tensor");
  DimVec sizes(repeats.begin(), repeats.end());
  size_t extra = repeats.size() - ndim;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(must_hold(sizes[i].sym_ge(0)),
                "Trying to create tensor with negative dimension ", sizes[i]);
    if (i >= extra) sizes[i] *= self.sym_size(static_cast<int64_t>(i - extra));
  }
  return make_contiguous(sizes, self.scalar_type(), self.device());
}

at::Tensor flip(const at::Tensor& self, c10::IntArrayRef dims) {
  at::dim_list_to_bitset(dims, self.dim());
  return make_tensor(self.sym_sizes(), preserved_strides(self),
                     self.scalar_type(), self.device());
}

at::Tensor roll(const at::Tensor& self, DimList shifts, c10::IntArrayRef dims) {
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  TORCH_CHECK(
      dims.size() == shifts.size() || (dims.empty() && shifts.size() == 1),
      "shifts and dimensions must align. shifts: ", shifts.size(),
      ", dims:", dims.size());
  for (int64_t dim : dims) wrap_dim(dim, self.dim());
  if (dims.empty() || self.is_cuda() || !is_empty(self.sym_sizes())) {
    // On the CPU it is made by concatenating its parts.
    c10::MemoryFormat format = dims.empty() || self.is_cuda()
                                   ? c10::MemoryFormat::Contiguous
                                   : self.suggest_memory_format();
    return make_tensor(self.sym_sizes(),
                       format_strides(self.sym_sizes(), format),
                       self.scalar_type(), self.device());
  }
  return make_tensor(self.sym_sizes(), preserved_strides(self),
                     self.scalar_type(), self.device());
}

at::Tensor take(const at::Tensor& self, const at::Tensor& index) {
  TORCH_CHECK(index.scalar_type() == at::kLong,
              "take(): Expected a long tensor for index, but got ",
              index.scalar_type());
  return make_contiguous(index.sym_sizes(), self.scalar_type(), self.device());
}

constexpr Rule kRules[] = {
    rule<&embedding>("aten::embedding"),
    rule<&index_select>("aten::index_select"),
    rule<&gather>("aten::gather"),
    {"aten::index.Tensor", &index_tensor},
    rule<&index_put>("aten::index_put"),
    {"aten::index_put_", &index_put_into},
    {"aten::_index_put_impl_", &index_put_into},
    rule<&masked_fill_number>("aten::masked_fill.Scalar"),
    rule<&masked_fill_tensor>("aten::masked_fill.Tensor"),
    rule<&cat>("aten::cat"),
    rule<&repeat>("aten::repeat"),
    rule<&flip>("aten::flip"),
    rule<&roll>("aten::roll"),
    rule<&take>("aten::take"),
};

}  // namespace

std::span<const Rule> index_rules() { return kRules; }

}  // namespace magneto::tensor
