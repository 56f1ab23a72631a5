// SPDX-License-Identifier: BSD-3-Clause
// Operators whose answer is in the tensor's data, which fake tensors don't
// have: those that give a tensor give one whose size the graph's run tells.
// And those that only look at data to raise, which wait until the graph runs.
#include <ATen/WrapDimUtils.h>

#include "tensor/errors.h"
#include "tensor/op_info.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

[[noreturn]] void needs_data(const OpInfo& op, c10::IValue*, Outputs&) {
  throw_needs_data(op.name + " needs the data of a tensor");
}

void checks_only(const OpInfo&, c10::IValue*, Outputs&) {}

// Memory of a fake is never pinned.
void never(const OpInfo&, c10::IValue*, Outputs& outputs) {
  outputs.emplace_back(false);
}

at::Tensor indices(const at::Tensor& like, DimList sizes) {
  return make_contiguous(sizes, at::kLong, like.device());
}

// Column by column.
at::Tensor nonzero(const at::Tensor& self) {
  const Dim count = unbacked_size(0, self.sym_numel());
  return make_tensor({count, Dim(self.dim())}, {Dim(1), count}, at::kLong,
                     self.device());
}

at::Tensor masked_select(const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(
      mask.scalar_type() == at::kBool || mask.scalar_type() == at::kByte,
      "masked_select: expected BoolTensor for mask");
  const DimVec whole = broadcast(self.sym_sizes(), mask.sym_sizes());
  return make_contiguous({unbacked_size(0, numel(whole))}, self.scalar_type(),
                         self.device());
}

// What unique's relatives give: values, for each element which of them it is,
// and how often each occurs. What isn't asked for is empty.
using Unique = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

Unique unique_elements(const at::Tensor& self, bool inverse, bool counts) {
  const Dim count = unbacked_size(0, self.sym_numel());
  return {make_contiguous({count}, self.scalar_type(), self.device()),
          indices(self, inverse ? self.sym_sizes() : DimList{Dim(0)}),
          indices(self, {counts ? count : Dim(0)})};
}

Unique unique2(const at::Tensor& self, bool, bool inverse, bool counts) {
  return unique_elements(self, inverse, counts);
}

std::tuple<at::Tensor, at::Tensor> unique(const at::Tensor& self, bool,
                                          bool inverse) {
  auto [values, places, counts] = unique_elements(self, inverse, false);
  return {values, places};
}

// Slices are found as rows of a copy with the dimension in front.
Unique unique_slices(const at::Tensor& self, int64_t dim) {
  dim = at::maybe_wrap_dim(dim, self.dim(), /*wrap_scalar=*/false);
  DimVec sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  const Dim whole = sizes[dim];
  sizes.erase(sizes.begin() + dim);
  TORCH_CHECK(!is_empty(sizes), is_empty({whole})
                                    ? "Number of zero sized dimensions is more "
                                      "than one, so unique cannot be applied "
                                    : "There are 0 sized dimensions, and they "
                                      "aren't selected, so unique cannot be "
                                      "applied");
  const Dim count = unbacked_size(0, whole);
  sizes.insert(sizes.begin(), count);
  DimVec strides = contiguous_strides(sizes);
  auto move_back = [dim](DimVec& dims) {
    const Dim first = dims.front();
    dims.erase(dims.begin());
    dims.insert(dims.begin() + dim, first);
  };
  move_back(sizes);
  move_back(strides);
  return {make_tensor(sizes, strides, self.scalar_type(), self.device()),
          indices(self, {whole}), indices(self, {count})};
}

Unique unique_dim(const at::Tensor& self, int64_t dim, bool, bool, bool) {
  return unique_slices(self, dim);
}
Unique unique_dim_consecutive(const at::Tensor& self, int64_t dim, bool, bool) {
  return unique_slices(self, dim);
}
Unique unique_consecutive(const at::Tensor& self, bool inverse, bool counts,
                          std::optional<int64_t> dim) {
  return dim ? unique_slices(self, *dim)
             : unique_elements(self, inverse, counts);
}

at::Tensor bincount(const at::Tensor& self,
                    const std::optional<at::Tensor>& weights, Dim least) {
  TORCH_CHECK(self.dim() == 1,
              "bincount only supports 1-d non-negative integral inputs.");
  TORCH_CHECK(c10::isIntegralType(self.scalar_type(), false),
              "\"bincount_cpu\" not implemented for '", self.scalar_type(),
              "'");
  const bool weighted = weights && weights->defined();
  const c10::ScalarType type = !weighted ? at::kLong
                               : weights->scalar_type() == at::kFloat
                                   ? at::kFloat
                                   : at::kDouble;
  return make_contiguous({unbacked_size(least)}, type, self.device());
}

// What to select so that each index stands there as often as it is said.
at::Tensor repeat_interleave(const at::Tensor& repeats,
                             std::optional<Dim> output_size) {
  TORCH_CHECK(repeats.dim() == 1,
              "repeat_interleave only accept 1D vector as repeat");
  TORCH_CHECK(
      repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt,
      "repeats has to be Long or Int tensor");
  return make_contiguous({output_size ? *output_size : unbacked_size(0)},
                         repeats.scalar_type(), repeats.device());
}

constexpr RuleFn kNeedsData = [](const OpInfo& op, c10::IValue* args,
                                 Outputs& outputs) {
  needs_data(op, args, outputs);
};

constexpr Rule kRules[] = {
    rule<&data_number>("aten::_local_scalar_dense"),
    {"aten::equal", kNeedsData},
    rule<&nonzero>("aten::nonzero"),
    rule<&masked_select>("aten::masked_select"),
    rule<&unique2>("aten::_unique2"),
    rule<&unique>("aten::_unique"),
    rule<&unique_dim>("aten::unique_dim"),
    rule<&unique_consecutive>("aten::unique_consecutive"),
    rule<&unique_dim_consecutive>("aten::unique_dim_consecutive"),
    rule<&bincount>("aten::bincount"),
    rule<&repeat_interleave>("aten::repeat_interleave.Tensor"),
    {"aten::_to_sparse", kNeedsData},
    {"aten::_to_sparse.sparse_dim", kNeedsData},
    {"aten::_assert_async", &checks_only},
    {"aten::_assert_async.msg", &checks_only},
    {"aten::_linalg_check_errors", &checks_only},
    {"aten::is_pinned", &never},
};

}  // namespace

std::span<const Rule> data_rules() { return kRules; }

}  // namespace magneto::tensor
