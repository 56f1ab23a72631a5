// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operators: one row each, saying how the output's dtype follows
// from the operands'.
#include "tensor/elementwise.h"
#include "tensor/rule.h"

namespace magneto::tensor {
namespace {

enum class Dtype {
  Promote,  // the operands' common dtype
  Float,    // the same, integers becoming the default dtype
  Bool,     // bool, operands converted to their common dtype
  BoolRaw,  // bool, operands read as they are
};

// The first `Count` arguments are the operands, tensors or numbers; whatever
// follows them (alpha, rounding mode...) doesn't matter to the result's shape.
template <Dtype Kind, int Count>
void pointwise(const OpInfo&, c10::IValue* args, Outputs& outputs) {
  TensorVec operands;
  const c10::Scalar* number = nullptr;
  c10::Scalar holder;
  for (int i = 0; i < Count; ++i) {
    if (args[i].isTensor()) {
      operands.push_back(args[i].toTensor());
    } else {
      holder = args[i].toScalar();
      number = &holder;
    }
  }
  c10::ScalarType common;
  if (Kind == Dtype::BoolRaw) {
    common = c10::ScalarType::Undefined;
  } else if (number) {
    common = promoted_type(operands[0], *number);
  } else {
    common = promoted_type(operands);
  }
  if (Kind == Dtype::Float) common = float_type(common);
  c10::ScalarType output =
      Kind == Dtype::Bool || Kind == Dtype::BoolRaw ? at::kBool : common;
  outputs.emplace_back(elementwise(operands, common, output));
}

constexpr RuleFn kUnary = &pointwise<Dtype::Promote, 1>;
constexpr RuleFn kUnaryFloat = &pointwise<Dtype::Float, 1>;
constexpr RuleFn kUnaryBool = &pointwise<Dtype::BoolRaw, 1>;
constexpr RuleFn kBinary = &pointwise<Dtype::Promote, 2>;
constexpr RuleFn kBinaryFloat = &pointwise<Dtype::Float, 2>;
constexpr RuleFn kCompare = &pointwise<Dtype::Bool, 2>;
constexpr RuleFn kLogical = &pointwise<Dtype::BoolRaw, 2>;
constexpr RuleFn kTernary = &pointwise<Dtype::Promote, 3>;

constexpr Rule kRules[] = {
    {"aten::add.Tensor", kBinary},
    {"aten::sub.Tensor", kBinary},
    {"aten::mul.Tensor", kBinary},
    {"aten::div.Tensor", kBinaryFloat},
    {"aten::relu", kUnary},
    {"aten::neg", kUnary},
    {"aten::silu", kUnary},
    {"aten::gelu", kUnary},
    {"aten::tanh", kUnaryFloat},
    {"aten::exp", kUnaryFloat},
    {"aten::rsqrt", kUnaryFloat},
    {"aten::sqrt", kUnaryFloat},
    {"aten::sin", kUnaryFloat},
    {"aten::cos", kUnaryFloat},
    {"aten::eq.Scalar", kCompare},
    {"aten::eq.Tensor", kCompare},
    {"aten::ne.Scalar", kCompare},
    {"aten::ne.Tensor", kCompare},
    {"aten::lt.Scalar", kCompare},
    {"aten::lt.Tensor", kCompare},
    {"aten::gt.Scalar", kCompare},
    {"aten::gt.Tensor", kCompare},
    {"aten::le.Scalar", kCompare},
    {"aten::le.Tensor", kCompare},
    {"aten::ge.Scalar", kCompare},
    {"aten::ge.Tensor", kCompare},
    {"aten::logical_and", kLogical},
    {"aten::logical_not", kUnaryBool},
    {"aten::addcmul", kTernary},
};

}  // namespace

std::span<const Rule> pointwise_rules() { return kRules; }

}  // namespace magneto::tensor
