// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/overlap.h"

#include <ATen/MemoryOverlap.h>

#include <algorithm>

#include "tensor/errors.h"
#include "tensor/op_name.h"

namespace magneto::tensor {
namespace {

// See plain_name(). Sorted.
//
// What is written may have elements in one place.
constexpr std::string_view kInOnePlace[] = {
    "_index_put_impl",
    "fill",
    "fill_diagonal",
    "index_fill",
    "index_put",
    "masked_fill",
    "masked_scatter",
    "tril",
    "triu",
    "zero",
};
// What is written may not be the same memory as another argument, as it may
// for others.
constexpr std::string_view kApart[] = {
    "_index_put_impl",
    "gather",
    "index_add",
    "index_copy",
    "index_put",
    "index_reduce",
    "index_select",
    "masked_select",
    "put",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "take",
};
static_assert(std::ranges::is_sorted(kInOnePlace) &&
              std::ranges::is_sorted(kApart));

template <typename Table>
bool is_in(const Table& table, std::string_view name) {
  return std::ranges::binary_search(table, name);
}

bool is_strided(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == c10::kStrided &&
         tensor.has_storage();
}

bool is_symbolic(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

// Whether several elements are in one place; of a size that varies, whether
// they may be.
bool overlaps_itself(const at::Tensor& tensor) {
  if (!is_symbolic(tensor))
    return at::has_internal_overlap(tensor) == at::MemOverlap::Yes;
  const auto sizes = tensor.sym_sizes(), strides = tensor.sym_strides();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i].maybe_as_int().value_or(2) > 1 &&
        strides[i].sym_eq(0).guard_or_false(__FILE__, __LINE__))
      return true;
  return false;
}

enum class Shared : uint8_t { Nothing, Some, All };

// Where it can be told from the ends: of tensors without gaps.
Shared shared(const at::Tensor& a, const at::Tensor& b) {
  if (a.storage().unsafeGetStorageImpl() !=
          b.storage().unsafeGetStorageImpl() ||
      a.numel() == 0 || b.numel() == 0 || !a.is_non_overlapping_and_dense() ||
      !b.is_non_overlapping_and_dense())
    return Shared::Nothing;
  const auto begin = [](const at::Tensor& tensor) {
    return tensor.storage_offset() * tensor.element_size();
  };
  const auto end = [&](const at::Tensor& tensor) {
    return begin(tensor) + tensor.numel() * tensor.element_size();
  };
  if (begin(a) == begin(b) && end(a) == end(b))
    return a.strides() == b.strides() ? Shared::All : Shared::Some;
  return begin(a) < end(b) && begin(b) < end(a) ? Shared::Some
                                                : Shared::Nothing;
}

[[noreturn]] void refuse(const OpInfo& op, const char* what) {
  throw_refused(op.name + " would write to a tensor of which " + what);
}

}  // namespace

void refuse_overlap(const OpInfo& op, const c10::IValue* args) {
  if (op.written.empty() || op.handle.hasTag(at::Tag::inplace_view)) return;
  const std::string_view name = plain_name(op.name);
  for (const uint32_t index : op.written) {
    if (!args[index].isTensor()) continue;
    const at::Tensor& written = args[index].toTensor();
    if (!is_strided(written)) continue;
    if (overlaps_itself(written) && !is_in(kInOnePlace, name))
      refuse(op, "several elements are in one place");
    if (is_symbolic(written)) continue;
    for (uint32_t i = 0; i < op.arity; ++i) {
      if (i == index || !args[i].isTensor()) continue;
      const at::Tensor& other = args[i].toTensor();
      const Shared memory = is_strided(other) && !is_symbolic(other)
                                ? shared(written, other)
                                : Shared::Nothing;
      if (memory == Shared::Some ||
          (memory == Shared::All && is_in(kApart, name)))
        refuse(op, "another argument shares memory");
    }
  }
}

}  // namespace magneto::tensor
