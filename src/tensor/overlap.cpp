// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/overlap.h"

#include <ATen/MemoryOverlap.h>

#include <algorithm>

#include "tensor/limits.h"

namespace magneto::tensor {
namespace {

// Those that write to elements in one place, without overloads. Sorted.
constexpr std::string_view kInOnePlace[] = {
    "aten::_index_put_impl_",
    "aten::fill_",
    "aten::fill_diagonal_",
    "aten::index_fill_",
    "aten::index_put_",
    "aten::masked_fill_",
    "aten::masked_scatter_",
    "aten::tril_",
    "aten::triu_",
    "aten::zero_",
};
static_assert(std::ranges::is_sorted(kInOnePlace));

std::string_view base_name(const OpInfo& op) {
  return std::string_view(op.name).substr(0, op.name.find('.'));
}

bool may_be_in_one_place(const OpInfo& op) {
  return std::ranges::binary_search(kInOnePlace, base_name(op));
}

// Whether the memory that is written to may be that of another argument, as a
// whole.
bool may_share_all(const OpInfo& op) {
  return op.handle.hasTag(at::Tag::pointwise) || base_name(op) == "aten::copy_";
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == c10::kStrided &&
         tensor.has_storage() &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
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
  if (op.handle.hasTag(at::Tag::inplace_view)) return;
  for (const uint32_t index : op.written) {
    if (!args[index].isTensor()) continue;
    const at::Tensor& written = args[index].toTensor();
    if (!is_plain(written)) continue;
    if (at::has_internal_overlap(written) == at::MemOverlap::Yes &&
        !may_be_in_one_place(op))
      refuse(op, "several elements are in one place");
    for (uint32_t i = 0; i < op.arity; ++i) {
      if (i == index || !args[i].isTensor()) continue;
      const at::Tensor& other = args[i].toTensor();
      const Shared memory =
          is_plain(other) ? shared(written, other) : Shared::Nothing;
      if (memory == Shared::Some ||
          (memory == Shared::All && !may_share_all(op)))
        refuse(op, "another argument shares memory");
    }
  }
}

}  // namespace magneto::tensor
