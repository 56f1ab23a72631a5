// SPDX-License-Identifier: BSD-3-Clause
// In-place operators that have no functional form worth a rule: they fill their
// argument and leave its metadata alone.
#include "tensor/rule.h"

namespace magneto::tensor {
namespace {

void returns_self(const OpInfo&, c10::IValue* args, Outputs& outputs) {
  outputs.push_back(args[0]);
}

constexpr Rule kRules[] = {
    {"aten::zero_", &returns_self},
    {"aten::fill_.Scalar", &returns_self},
    {"aten::fill_.Tensor", &returns_self},
    {"aten::normal_", &returns_self},
    {"aten::uniform_", &returns_self},
    {"aten::random_", &returns_self},
    {"aten::random_.to", &returns_self},
    {"aten::random_.from", &returns_self},
    {"aten::bernoulli_.float", &returns_self},
    {"aten::bernoulli_.Tensor", &returns_self},
    {"aten::exponential_", &returns_self},
    {"aten::geometric_", &returns_self},
    {"aten::cauchy_", &returns_self},
    {"aten::log_normal_", &returns_self},
};

}  // namespace

std::span<const Rule> inplace_rules() { return kRules; }

}  // namespace magneto::tensor
