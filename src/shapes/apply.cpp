// SPDX-License-Identifier: BSD-3-Clause
// One operation on numbers, as Python computes it.
#include <cmath>

#include "shapes/program.h"
#include "shapes/sum.h"

namespace magneto::shapes {

namespace {

using Result = std::optional<Number>;

// Ints up to here are floats exactly.
constexpr int64_t kMostExact = int64_t{1} << 53;

bool is_exact(int64_t value) {
  return -kMostExact <= value && value <= kMostExact;
}

Result power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  if (base == 0 || base == 1) return Number::of(exponent == 0 ? 1 : base);
  if (base == -1) return Number::of(int64_t{exponent % 2 == 0 ? 1 : -1});
  int64_t result = 1;
  for (; exponent > 0; --exponent) {  // at most 63 times
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return Number::of(result);
}

Result shift_left(int64_t value, int64_t places) {
  if (places < 0) return std::nullopt;
  if (value == 0) return Number::of(int64_t{0});
  if (places > 63) return std::nullopt;
  const __int128 result = static_cast<__int128>(value) << places;
  if (result != static_cast<int64_t>(result)) return std::nullopt;
  return Number::of(static_cast<int64_t>(result));
}

Result on_ints(Operation operation, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (operation) {
    case Operation::Add:
      if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
      return Number::of(result);
    case Operation::Multiply:
      if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
      return Number::of(result);
    case Operation::FloorDivide:
      if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
      return Number::of(floor_quotient(a, b));
    case Operation::Modulo:
      if (b == 0) return std::nullopt;
      return Number::of(b == -1 ? int64_t{0} : floor_remainder(a, b));
    case Operation::Power:
      return power(a, b);
    case Operation::Minimum:
      return Number::of(b < a ? b : a);
    case Operation::Maximum:
      return Number::of(b > a ? b : a);
    case Operation::Absolute:
      if (a == INT64_MIN) return std::nullopt;
      return Number::of(a < 0 ? -a : a);
    case Operation::TrueDivide:
      if (b == 0 || !is_exact(a) || !is_exact(b)) return std::nullopt;
      return Number::of(static_cast<double>(a) / static_cast<double>(b));
    case Operation::BitAnd:
      return Number::of(a & b);
    case Operation::BitOr:
      return Number::of(a | b);
    case Operation::BitXor:
      return Number::of(a ^ b);
    case Operation::ShiftLeft:
      return shift_left(a, b);
    case Operation::ShiftRight:
      if (b < 0) return std::nullopt;
      return Number::of(a >> (b > 63 ? 63 : b));
    case Operation::ToFloat:
      if (!is_exact(a)) return std::nullopt;
      return Number::of(static_cast<double>(a));
    case Operation::Equal:
      return Number::of(a == b);
    case Operation::Less:
      return Number::of(a < b);
    case Operation::LessEqual:
      return Number::of(a <= b);
    default:
      return std::nullopt;
  }
}

// Python raises where a function leaves its domain or overflows.
Result checked(double argument, double result) {
  if (std::isnan(result) && !std::isnan(argument)) return std::nullopt;
  if (std::isinf(result) && std::isfinite(argument)) return std::nullopt;
  return Number::of(result);
}

Result to_int(double value) {
  // Also false for NaN. The bounds are floats exactly.
  if (!(value >= -0x1p63 && value < 0x1p63)) return std::nullopt;
  return Number::of(static_cast<int64_t>(value));
}

double round_half_even(double value) {
  const double floor = std::floor(value);
  const double above = value - floor;  // exact
  if (above < 0.5) return floor;
  if (above > 0.5) return floor + 1;
  return std::fmod(floor, 2.0) == 0 ? floor : floor + 1;
}

double remainder(double a, double b) {
  double result = std::fmod(a, b);
  if (result == 0) return std::copysign(0.0, b);
  if ((b < 0) != (result < 0)) result += b;
  return result;
}

double floor_quotient(double a, double b) {
  const double exact = std::fmod(a, b);
  double quotient = (a - exact) / b;
  if (exact != 0 && (b < 0) != (exact < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Result power(double base, double exponent) {
  const bool are_finite = std::isfinite(base) && std::isfinite(exponent);
  if (are_finite && base == 0 && exponent < 0) return std::nullopt;
  if (are_finite && base < 0 && exponent != std::floor(exponent)) {
    return std::nullopt;  // complex
  }
  const double result = std::pow(base, exponent);
  if (are_finite && std::isinf(result)) return std::nullopt;
  return Number::of(result);
}

Result on_floats(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::Add:
      return Number::of(a + b);
    case Operation::Multiply:
      return Number::of(a * b);
    case Operation::FloorDivide:
      if (b == 0) return std::nullopt;
      return Number::of(floor_quotient(a, b));
    case Operation::Modulo:
      if (b == 0) return std::nullopt;
      return Number::of(remainder(a, b));
    case Operation::Power:
      return power(a, b);
    case Operation::Minimum:
      return Number::of(b < a ? b : a);
    case Operation::Maximum:
      return Number::of(b > a ? b : a);
    case Operation::Absolute:
      return Number::of(std::fabs(a));
    case Operation::TrueDivide:
      if (b == 0) return std::nullopt;
      return Number::of(a / b);
    case Operation::Truncate:
      return to_int(std::trunc(a));
    case Operation::Floor:
      return to_int(std::floor(a));
    case Operation::Ceiling:
      return to_int(std::ceil(a));
    case Operation::Round:
      return to_int(round_half_even(a));
    case Operation::Sqrt:
      return checked(a, std::sqrt(a));
    case Operation::Exp:
      return checked(a, std::exp(a));
    case Operation::Log:
      return checked(a, std::log(a));
    case Operation::Log2:
      return checked(a, std::log2(a));
    case Operation::Exp2:
      return checked(a, std::exp2(a));
    case Operation::Expm1:
      return checked(a, std::expm1(a));
    case Operation::Log10:
      return checked(a, std::log10(a));
    case Operation::Log1p:
      return checked(a, std::log1p(a));
    case Operation::Cbrt:
      return checked(a, std::cbrt(a));
    case Operation::Erf:
      return checked(a, std::erf(a));
    case Operation::Erfc:
      return checked(a, std::erfc(a));
    case Operation::Asinh:
      return checked(a, std::asinh(a));
    case Operation::Acosh:
      return checked(a, std::acosh(a));
    case Operation::Atanh:
      return checked(a, std::atanh(a));
    case Operation::Atan2:
      return Number::of(std::atan2(a, b));
    case Operation::Sin:
      return checked(a, std::sin(a));
    case Operation::Cos:
      return checked(a, std::cos(a));
    case Operation::Tan:
      return checked(a, std::tan(a));
    case Operation::Asin:
      return checked(a, std::asin(a));
    case Operation::Acos:
      return checked(a, std::acos(a));
    case Operation::Atan:
      return checked(a, std::atan(a));
    case Operation::Sinh:
      return checked(a, std::sinh(a));
    case Operation::Cosh:
      return checked(a, std::cosh(a));
    case Operation::Tanh:
      return checked(a, std::tanh(a));
    case Operation::CopySign:
      return Number::of(std::copysign(a, b));
    case Operation::Equal:
      return Number::of(a == b);
    case Operation::Less:
      return Number::of(a < b);
    case Operation::LessEqual:
      return Number::of(a <= b);
    default:
      return std::nullopt;
  }
}

Result on_bools(Operation operation, bool a, bool b) {
  switch (operation) {
    case Operation::ToInteger:
      return Number::of(int64_t{a});
    case Operation::And:
      return Number::of(a && b);
    case Operation::Or:
      return Number::of(a || b);
    case Operation::Not:
      return Number::of(!a);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Number> apply(Operation operation, Type operand_type, Number left,
                            Number right) noexcept {
  switch (operand_type) {
    case Type::Integer:
      return on_ints(operation, left.integer(), right.integer());
    case Type::Float:
      return on_floats(operation, left.real(), right.real());
    case Type::Boolean:
      return on_bools(operation, left.truth(), right.truth());
  }
  return std::nullopt;
}

}  // namespace magneto::shapes
