// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operators: one row each, saying how the output's dtype follows
// from the operands'.
#include <ATen/native/BinaryOps.h>

#include <limits>

#include "tensor/elementwise.h"
#include "tensor/errors.h"
#include "tensor/number_limits.h"
#include "tensor/op_info.h"
#include "tensor/partial_rule.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/view_shape.h"

namespace magneto::tensor {
namespace {

enum class Dtype {
  Promote,  // the operands' common dtype
  Float,    // the same, integers becoming the default dtype
  Bool,     // bool, operands converted to their common dtype
  BoolRaw,  // bool, operands read as they are
  Real,     // as Promote, complex becoming real
};

// Kinds of numbers that the kernels of an operator refuse, whatever the sizes.
enum Refused : unsigned {
  kNothing = 0,
  kBool = 1 << 0,
  kInteger = 1 << 1,
  kReal = 1 << 2,
  kComplex = 1 << 3,
};

Refused kind_of(c10::ScalarType type) {
  if (type == at::kBool) return kBool;
  if (c10::isComplexType(type)) return kComplex;
  return c10::isIntegralType(type, /*includeBool=*/false) ? kInteger : kReal;
}

void check_kind(std::string_view name, c10::ScalarType type, unsigned refused) {
  if (refused & kind_of(type))
    throw_refused(std::string(name) + " isn't implemented for " +
                  c10::toString(type));
}

// The first `Count` arguments are the operands, tensors or numbers; whatever
// follows them (alpha, rounding mode...) doesn't matter to the result's shape.
template <Dtype Kind, int Count, unsigned refused>
void pointwise(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  TensorVec operands;
  PromotedType common;
  for (int i = 0; i < Count; ++i) {
    if (args[i].isTensor()) {
      operands.push_back(args[i].toTensor());
      common.add(operands.back());
    } else if (!args[i].isNone()) {
      common.add(args[i].toScalar());
    }
  }
  const c10::ScalarType type = common.type();
  check_kind(op.name, type, refused);
  c10::ScalarType computation =
      Kind == Dtype::BoolRaw ? c10::ScalarType::Undefined : type;
  if (Kind == Dtype::Float) computation = float_type(computation);
  c10::ScalarType output = computation;
  if (Kind == Dtype::Bool || Kind == Dtype::BoolRaw) output = at::kBool;
  if (Kind == Dtype::Real) output = c10::toRealValueType(computation);
  outputs.emplace_back(elementwise(operands, computation, output));
}

// By the kinds of numbers that are refused.
template <unsigned refused = kNothing>
constexpr RuleFn kUnary = &pointwise<Dtype::Promote, 1, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kUnaryFloat = &pointwise<Dtype::Float, 1, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kUnaryBool = &pointwise<Dtype::BoolRaw, 1, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kUnaryReal = &pointwise<Dtype::Real, 1, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kBinary = &pointwise<Dtype::Promote, 2, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kBinaryFloat = &pointwise<Dtype::Float, 2, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kCompare = &pointwise<Dtype::Bool, 2, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kLogical = &pointwise<Dtype::BoolRaw, 2, refused>;
template <unsigned refused = kNothing>
constexpr RuleFn kTernary = &pointwise<Dtype::Promote, 3, refused>;

// self + alpha * other, where `other` may be a number.
void add(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  kBinary<>(op, args, outputs);
  at::native::alpha_check(outputs.back().toTensor().scalar_type(),
                          args[2].toScalar());
}

void subtract(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  const at::Tensor& self = args[0].toTensor();
  if (args[1].isTensor())
    at::native::sub_check(self, args[1].toTensor());
  else
    at::native::sub_check(self, args[1].toScalar());
  add(op, args, outputs);
}

void softshrink(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  kUnary<kBool | kInteger | kComplex>(op, args, outputs);
  const c10::ScalarType type = outputs.back().toTensor().scalar_type();
  if (!is_within(args[1].toScalar(), {0, ends_of(type).most}))
    throw_refused(op.name + " takes no lambda out of the range of its type");
}

// rsub(self, other) is sub(other, self): the order of the operands decides
// between equally good layouts.
at::Tensor rsub_tensor(const at::Tensor& self, const at::Tensor& other,
                       const c10::Scalar& alpha) {
  at::native::sub_check(other, self);
  TensorVec operands{other, self};
  c10::ScalarType type = promoted_type(operands);
  at::native::alpha_check(type, alpha);
  return elementwise(operands, type, type);
}

at::Tensor div_mode(const at::Tensor& self, const at::Tensor& other,
                    std::optional<std::string_view> rounding_mode) {
  TensorVec operands{self, other};
  c10::ScalarType type = promoted_type(operands);
  if (!rounding_mode) type = float_type(type);
  return elementwise(operands, type, type);
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self,
                 const at::Tensor& other) {
  TORCH_CHECK(condition.scalar_type() == at::kBool ||
                  condition.scalar_type() == at::kByte,
              "where expected condition to be a boolean tensor, but got a "
              "tensor with dtype ",
              condition.scalar_type());
  TensorVec values{self, other};
  c10::ScalarType type = promoted_type(values);
  TensorVec operands{condition, self, other};
  return elementwise(operands, type, type, /*unconverted=*/1);
}

at::Tensor angle(const at::Tensor& self) {
  // Of complex numbers, the real part of a complex result, copied.
  if (self.is_complex()) {
    return make_contiguous(self.sym_sizes(),
                           c10::toRealValueType(self.scalar_type()),
                           self.device());
  }
  TensorVec operands{self};
  c10::ScalarType type = float_type(self.scalar_type());
  return elementwise(operands, type, type);
}

// Both parts are read as they are; the result is a dtype of twice the size.
at::Tensor complex_of(const at::Tensor& real, const at::Tensor& imag) {
  TORCH_CHECK(real.scalar_type() == imag.scalar_type(),
              "Expected object of scalar type ", real.scalar_type(),
              " but got scalar type ", imag.scalar_type(),
              " for second argument");
  TORCH_CHECK(at::isFloatingType(real.scalar_type()),
              "Expected both inputs to be Half, Float or Double tensors but "
              "got ",
              real.scalar_type(), " and ", imag.scalar_type());
  TensorVec operands{real, imag};
  return elementwise(operands, c10::ScalarType::Undefined,
                     c10::toComplexType(real.scalar_type()));
}

// What empty_like() makes of the first argument, whatever the others are.
at::Tensor like(const at::Tensor& self, c10::ScalarType dtype) {
  return make_tensor(self.sym_sizes(), preserved_strides(self), dtype,
                     self.device());
}
template <unsigned refused = kNothing>
void like_first(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  const at::Tensor& self = args[0].toTensor();
  check_kind(op.name, self.scalar_type(), refused);
  outputs.emplace_back(like(self, self.scalar_type()));
}

template <unsigned refused = kNothing>
void contiguous_first(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  const at::Tensor& self = args[0].toTensor();
  check_kind(op.name, self.scalar_type(), refused);
  outputs.emplace_back(
      make_contiguous(self.sym_sizes(), self.scalar_type(), self.device()));
}

std::tuple<at::Tensor, at::Tensor> frexp(const at::Tensor& self) {
  TORCH_CHECK(at::isFloatingType(self.scalar_type()),
              "torch.frexp() only supports floating-point dtypes");
  return {like(self, self.scalar_type()), like(self, at::kInt)};
}

std::tuple<at::Tensor, at::Tensor> log_sigmoid_forward(const at::Tensor& self) {
  check_kind("log_sigmoid", self.scalar_type(), kBool | kInteger | kComplex);
  at::Tensor output =
      make_contiguous(self.sym_sizes(), self.scalar_type(), self.device());
  // What the backward pass needs is kept on the CPU only.
  DimVec none{Dim(0)};
  at::Tensor buffer =
      make_contiguous(self.is_cuda() ? DimList(none) : self.sym_sizes(),
                      self.scalar_type(), self.device());
  return {output, buffer};
}

// Samples around `mean`, which may be a number, as may be the deviation.
void normal(const OpInfo&, c10::IValue* args, Outputs& outputs) {
  const c10::IValue &mean = args[0], &deviation = args[1];
  const at::Tensor& like = (mean.isTensor() ? mean : deviation).toTensor();
  DimVec sizes(like.sym_sizes().begin(), like.sym_sizes().end());
  if (mean.isTensor() && deviation.isTensor()) {
    sizes = broadcast(sizes, deviation.toTensor().sym_sizes());
  }
  outputs.emplace_back(
      make_contiguous(sizes, like.scalar_type(), like.device()));
}

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input,
                                                  double p,
                                                  std::optional<bool> train) {
  c10::ScalarType mask =
      is_empty(input.sym_sizes()) ? input.scalar_type() : at::kBool;
  return {like(input, input.scalar_type()), like(input, mask)};
}

// grad * (mask * scale): the scale makes integers floating-point numbers.
at::Tensor native_dropout_backward(const at::Tensor& grad,
                                   const at::Tensor& mask, double) {
  if (grad.is_cuda())
    return make_tensor(
        grad.sym_sizes(),
        format_strides(grad.sym_sizes(), grad.suggest_memory_format()),
        grad.scalar_type(), grad.device());
  TensorVec operands{grad, mask};
  c10::ScalarType type = float_type(grad.scalar_type());
  return elementwise(operands, type, type);
}

// The operand comes second: polygamma(n, self).
MaybeTensor polygamma(int64_t n, const at::Tensor& self) {
  if (n < 0) return std::nullopt;
  TensorVec operands{self};
  c10::ScalarType type = float_type(self.scalar_type());
  return elementwise(operands, type, type);
}

at::Tensor power_of_number(const c10::Scalar& base, const at::Tensor& self) {
  PromotedType common;
  common.add(base);
  common.add(self);
  return make_contiguous(self.sym_sizes(), common.type(), self.device());
}

MaybeTensor lerp_number(const at::Tensor& self, const at::Tensor& end,
                        const c10::Scalar&) {
  if (self.scalar_type() != end.scalar_type()) return std::nullopt;
  TensorVec operands{self, end};
  return elementwise(operands, self.scalar_type(), self.scalar_type());
}

MaybeTensor addcdiv(const at::Tensor& self, const at::Tensor& tensor1,
                    const at::Tensor& tensor2, const c10::Scalar&) {
  TensorVec operands{self, tensor1, tensor2};
  c10::ScalarType type = promoted_type(operands);
  if (at::isIntegralType(tensor1.scalar_type(), true) &&
      at::isIntegralType(tensor2.scalar_type(), true)) {
    return std::nullopt;
  }
  return elementwise(operands, type, type);
}

// One half of the tensor gates the other.
MaybeTensor glu(const at::Tensor& self, int64_t dim) {
  const int64_t ndim = self.dim();
  if (ndim == 0 || dim < -ndim || dim >= ndim || self.sym_size(dim) % 2 != 0) {
    return std::nullopt;
  }
  ViewShape half(self);
  dim = wrap_dim(dim, ndim);
  half.sizes[dim] = half.sizes[dim] / 2;
  at::Tensor first = make_view(self, half.sizes, half.strides, half.offset);
  TensorVec operands{first, first};
  return elementwise(operands, self.scalar_type(), self.scalar_type());
}

// ---- Contiguous, whatever the argument is ----------------------------------

MaybeTensor triangle(const at::Tensor& self, Dim) {
  if (self.dim() < 2) return std::nullopt;
  return make_contiguous(self.sym_sizes(), self.scalar_type(), self.device());
}

MaybeTensor renorm(const at::Tensor& self, const c10::Scalar& p, int64_t dim,
                   const c10::Scalar& most) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (p.isComplex() || most.isComplex() || !(p.toDouble() > 0) ||
      !is_within(most, {0, kInfinity}) || self.dim() < 2 || dim < -self.dim() ||
      dim >= self.dim()) {
    return std::nullopt;
  }
  return make_contiguous(self.sym_sizes(), self.scalar_type(), self.device());
}

MaybeTensor membership(const at::Tensor& elements) {
  const c10::ScalarType type = elements.scalar_type();
  if (!at::isIntegralType(type, false) && !at::isFloatingType(type))
    return std::nullopt;
  return make_contiguous(elements.sym_sizes(), at::kBool, elements.device());
}
MaybeTensor is_in_tensor(const at::Tensor& elements, const at::Tensor& tested,
                         bool, bool) {
  if (!membership(tested) || elements.device() != tested.device())
    return std::nullopt;
  return membership(elements);
}
MaybeTensor is_number(const at::Tensor& elements, const c10::Scalar& tested,
                      bool, bool) {
  if (tested.isComplex() || tested.isBoolean()) return std::nullopt;
  return membership(elements);
}

constexpr Rule kRules[] = {
    // Arithmetic.
    {"aten::add.Tensor", &add},
    {"aten::sub.Tensor", &subtract},
    {"aten::mul.Tensor", kBinary<>},
    {"aten::bitwise_and.Tensor", kBinary<kReal | kComplex>},
    {"aten::bitwise_or.Tensor", kBinary<kReal | kComplex>},
    {"aten::bitwise_xor.Tensor", kBinary<kReal | kComplex>},
    {"aten::bitwise_left_shift.Tensor", kBinary<kBool | kReal | kComplex>},
    {"aten::bitwise_right_shift.Tensor", kBinary<kBool | kReal | kComplex>},
    {"aten::remainder.Tensor", kBinary<kBool | kComplex>},
    {"aten::fmod.Tensor", kBinary<kBool | kComplex>},
    {"aten::maximum", kBinary<kComplex>},
    {"aten::minimum", kBinary<kComplex>},
    {"aten::fmax", kBinary<kComplex>},
    {"aten::fmin", kBinary<kComplex>},
    {"aten::gcd", kBinary<kBool | kReal | kComplex>},
    {"aten::lcm", kBinary<kBool | kReal | kComplex>},
    {"aten::floor_divide", kBinary<kBool | kComplex>},
    {"aten::heaviside", kBinary<kComplex>},
    {"aten::hypot", kBinary<kBool | kInteger | kComplex>},
    {"aten::nextafter", kBinary<kBool | kInteger | kComplex>},
    {"aten::logaddexp", kBinary<kBool | kInteger>},
    {"aten::logaddexp2", kBinary<kBool | kInteger | kComplex>},
    {"aten::pow.Tensor_Scalar", kBinary<>},
    {"aten::pow.Tensor_Tensor", kBinary<kBool>},
    {"aten::clamp_min", kBinary<kBool | kComplex>},
    {"aten::clamp_max", kBinary<kBool | kComplex>},
    {"aten::clamp_min.Tensor", kBinary<kComplex>},
    {"aten::clamp_max.Tensor", kBinary<kComplex>},
    rule<&rsub_tensor>("aten::rsub.Tensor"),
    // With a number, which may be a symbol.
    {"aten::add.Scalar", &add},
    {"aten::sub.Scalar", &subtract},
    {"aten::rsub.Scalar", &subtract},
    {"aten::mul.Scalar", kBinary<>},
    {"aten::div.Scalar", kBinaryFloat<>},
    {"aten::remainder.Scalar", kBinary<kBool | kComplex>},
    {"aten::fmod.Scalar", kBinary<kBool | kComplex>},
    {"aten::floor_divide.Scalar", kBinary<kBool | kComplex>},
    {"aten::div.Tensor", kBinaryFloat<>},
    {"aten::atan2", kBinaryFloat<kComplex>},
    {"aten::copysign.Tensor", kBinaryFloat<kComplex>},
    {"aten::xlogy.Tensor", kBinaryFloat<kComplex>},
    {"aten::special_xlog1py", kBinaryFloat<kComplex>},
    {"aten::special_zeta", kBinaryFloat<kComplex>},
    {"aten::igamma", kBinaryFloat<kBool | kInteger | kComplex>},
    {"aten::igammac", kBinaryFloat<kBool | kInteger | kComplex>},
    {"aten::special_chebyshev_polynomial_t", kBinaryFloat<kComplex>},
    {"aten::special_chebyshev_polynomial_u", kBinaryFloat<kComplex>},
    {"aten::special_chebyshev_polynomial_v", kBinaryFloat<kComplex>},
    {"aten::special_chebyshev_polynomial_w", kBinaryFloat<kComplex>},
    {"aten::special_hermite_polynomial_h", kBinaryFloat<kComplex>},
    {"aten::special_hermite_polynomial_he", kBinaryFloat<kComplex>},
    {"aten::special_laguerre_polynomial_l", kBinaryFloat<kComplex>},
    {"aten::special_legendre_polynomial_p", kBinaryFloat<kComplex>},
    {"aten::special_shifted_chebyshev_polynomial_t", kBinaryFloat<kComplex>},
    {"aten::special_shifted_chebyshev_polynomial_u", kBinaryFloat<kComplex>},
    {"aten::special_shifted_chebyshev_polynomial_v", kBinaryFloat<kComplex>},
    {"aten::special_shifted_chebyshev_polynomial_w", kBinaryFloat<kComplex>},
    {"aten::__lshift__.Scalar", kBinary<kBool | kReal | kComplex>},
    {"aten::__lshift__.Tensor", kBinary<kBool | kReal | kComplex>},
    {"aten::__rshift__.Scalar", kBinary<kBool | kReal | kComplex>},
    {"aten::__rshift__.Tensor", kBinary<kBool | kReal | kComplex>},
    rule<&power_of_number>("aten::pow.Scalar"),
    attempt<"aten::addcdiv", &addcdiv>(),
    attempt<"aten::lerp.Scalar", &lerp_number>(),
    attempt<"aten::glu", &glu>(),
    rule<&div_mode>("aten::div.Tensor_mode"),
    {"aten::addcmul", kTernary<kBool>},
    {"aten::clamp", kTernary<kBool | kComplex>},
    {"aten::clamp.Tensor", kTernary<kBool | kComplex>},
    {"aten::lerp.Tensor", kTernary<kBool | kInteger>},
    rule<&where>("aten::where.self"),
    // Comparison and logic.
    {"aten::eq.Scalar", kCompare<>},
    {"aten::eq.Tensor", kCompare<>},
    {"aten::ne.Scalar", kCompare<>},
    {"aten::ne.Tensor", kCompare<>},
    {"aten::lt.Scalar", kCompare<kComplex>},
    {"aten::lt.Tensor", kCompare<kComplex>},
    {"aten::gt.Scalar", kCompare<kComplex>},
    {"aten::gt.Tensor", kCompare<kComplex>},
    {"aten::le.Scalar", kCompare<kComplex>},
    {"aten::le.Tensor", kCompare<kComplex>},
    {"aten::ge.Scalar", kCompare<kComplex>},
    {"aten::ge.Tensor", kCompare<kComplex>},
    {"aten::logical_and", kLogical<>},
    {"aten::logical_or", kLogical<>},
    {"aten::logical_xor", kLogical<>},
    {"aten::logical_not", kUnaryBool<>},
    {"aten::isnan", kUnaryBool<>},
    {"aten::isposinf", kUnaryBool<kComplex>},
    {"aten::isneginf", kUnaryBool<kComplex>},
    {"aten::signbit", kUnaryBool<kComplex>},
    // One operand.
    {"aten::neg", kUnary<kBool>},
    {"aten::relu", kUnary<kBool | kComplex>},
    {"aten::silu", kUnary<kBool | kInteger>},
    {"aten::gelu", kUnary<kBool | kInteger | kComplex>},
    {"aten::elu", kUnary<kBool | kInteger | kComplex>},
    {"aten::leaky_relu", kUnary<kBool | kInteger | kComplex>},
    {"aten::mish", kUnary<kBool | kInteger | kComplex>},
    {"aten::hardshrink", kUnary<kBool | kInteger | kComplex>},
    {"aten::softshrink", &softshrink},
    {"aten::threshold", kUnary<kBool | kComplex>},
    {"aten::sgn", kUnary<>},
    {"aten::sign", kUnary<kComplex>},
    {"aten::floor", kUnary<kBool | kComplex>},
    {"aten::ceil", kUnary<kBool | kComplex>},
    {"aten::trunc", kUnary<kBool | kComplex>},
    {"aten::round", kUnary<kBool | kComplex>},
    {"aten::round.decimals", kUnary<kBool | kInteger | kComplex>},
    {"aten::frac", kUnary<kBool | kInteger | kComplex>},
    {"aten::bitwise_not", kUnary<kReal | kComplex>},
    {"aten::softplus", kUnary<kBool | kInteger | kComplex>},
    {"aten::exp", kUnaryFloat<>},
    {"aten::exp2", kUnaryFloat<>},
    {"aten::expm1", kUnaryFloat<>},
    {"aten::log", kUnaryFloat<>},
    {"aten::log2", kUnaryFloat<>},
    {"aten::log10", kUnaryFloat<>},
    {"aten::log1p", kUnaryFloat<>},
    {"aten::sqrt", kUnaryFloat<>},
    {"aten::rsqrt", kUnaryFloat<>},
    {"aten::reciprocal", kUnaryFloat<>},
    {"aten::sin", kUnaryFloat<>},
    {"aten::cos", kUnaryFloat<>},
    {"aten::tan", kUnaryFloat<>},
    {"aten::asin", kUnaryFloat<>},
    {"aten::acos", kUnaryFloat<>},
    {"aten::atan", kUnaryFloat<>},
    {"aten::sinh", kUnaryFloat<>},
    {"aten::cosh", kUnaryFloat<>},
    {"aten::tanh", kUnaryFloat<>},
    {"aten::asinh", kUnaryFloat<>},
    {"aten::acosh", kUnaryFloat<>},
    {"aten::atanh", kUnaryFloat<>},
    {"aten::sigmoid", kUnaryFloat<>},
    {"aten::erf", kUnaryFloat<kComplex>},
    {"aten::erfc", kUnaryFloat<kComplex>},
    {"aten::erfinv", kUnaryFloat<kComplex>},
    {"aten::lgamma", kUnaryFloat<kComplex>},
    {"aten::digamma", kUnaryFloat<kComplex>},
    {"aten::logit", kUnaryFloat<kComplex>},
    {"aten::sinc", kUnaryFloat<>},
    {"aten::i0", kUnaryFloat<kComplex>},
    {"aten::special_airy_ai", kUnaryFloat<kComplex>},
    {"aten::special_bessel_j0", kUnaryFloat<kComplex>},
    {"aten::special_bessel_j1", kUnaryFloat<kComplex>},
    {"aten::special_bessel_y0", kUnaryFloat<kComplex>},
    {"aten::special_bessel_y1", kUnaryFloat<kComplex>},
    {"aten::special_entr", kUnaryFloat<kComplex>},
    {"aten::special_erfcx", kUnaryFloat<kComplex>},
    {"aten::special_i0e", kUnaryFloat<kComplex>},
    {"aten::special_i1", kUnaryFloat<kComplex>},
    {"aten::special_i1e", kUnaryFloat<kComplex>},
    {"aten::special_log_ndtr", kUnaryFloat<kComplex>},
    {"aten::special_modified_bessel_i0", kUnaryFloat<kComplex>},
    {"aten::special_modified_bessel_i1", kUnaryFloat<kComplex>},
    {"aten::special_modified_bessel_k0", kUnaryFloat<kComplex>},
    {"aten::special_modified_bessel_k1", kUnaryFloat<kComplex>},
    {"aten::special_ndtri", kUnaryFloat<kComplex>},
    {"aten::special_scaled_modified_bessel_k0", kUnaryFloat<kComplex>},
    {"aten::special_scaled_modified_bessel_k1", kUnaryFloat<kComplex>},
    {"aten::special_spherical_bessel_j0", kUnaryFloat<kComplex>},
    attempt<"aten::polygamma", &polygamma>(),
    {"aten::hardswish", kUnary<kBool | kInteger | kComplex>},
    {"aten::hardsigmoid", kUnary<kBool | kInteger | kComplex>},
    {"aten::abs", kUnaryReal<kBool>},
    attempt<"aten::tril", &triangle>(),
    attempt<"aten::triu", &triangle>(),
    attempt<"aten::renorm", &renorm>(),
    attempt<"aten::isin.Tensor_Tensor", &is_in_tensor>(),
    attempt<"aten::isin.Tensor_Scalar", &is_number>(),
    {"aten::nan_to_num", &like_first<>},
    {"aten::hardtanh", &like_first<kBool | kComplex>},
    {"aten::_prelu_kernel", &like_first<>},
    {"aten::rrelu_with_noise", &contiguous_first<kBool | kInteger | kComplex>},
    rule<&native_dropout_backward>("aten::native_dropout_backward"),
    {"aten::normal.Tensor_float", &normal},
    {"aten::normal.float_Tensor", &normal},
    {"aten::normal.Tensor_Tensor", &normal},
    rule<&angle>("aten::angle"),
    rule<&complex_of>("aten::complex"),
    rule<&complex_of>("aten::polar"),
    rule<&frexp>("aten::frexp.Tensor"),
    rule<&log_sigmoid_forward>("aten::log_sigmoid_forward"),
    rule<&native_dropout>("aten::native_dropout"),
};

}  // namespace

std::span<const Rule> pointwise_rules() { return kRules; }

}  // namespace magneto::tensor
