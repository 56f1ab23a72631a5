// SPDX-License-Identifier: BSD-3-Clause
// Operators whose answer is in the tensor's data, which fake tensors don't
// have; and those that only look at data to raise, which wait until the graph
// runs.
#include "tensor/limits.h"
#include "tensor/op_info.h"
#include "tensor/rule.h"

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

constexpr RuleFn kNeedsData = [](const OpInfo& op, c10::IValue* args,
                                 Outputs& outputs) {
  needs_data(op, args, outputs);
};

constexpr Rule kRules[] = {
    {"aten::_local_scalar_dense", kNeedsData},
    {"aten::equal", kNeedsData},
    {"aten::nonzero", kNeedsData},
    {"aten::masked_select", kNeedsData},
    {"aten::_unique2", kNeedsData},
    {"aten::_unique", kNeedsData},
    {"aten::unique_dim", kNeedsData},
    {"aten::unique_consecutive", kNeedsData},
    {"aten::unique_dim_consecutive", kNeedsData},
    {"aten::bincount", kNeedsData},
    {"aten::repeat_interleave.Tensor", kNeedsData},
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
