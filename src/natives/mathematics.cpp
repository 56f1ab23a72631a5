// SPDX-License-Identifier: BSD-3-Clause
// math and cmath: pure on numbers.
#include "natives/pure.h"
#include "natives/signature.h"

namespace magneto::natives {

namespace {

constexpr int kMultiply = 5;  // NB_MULTIPLY

Outcome<V> product(Context& ctx, const Arguments& args) {
  V total = args.keyword(name<"start">());
  if (!total) total = ctx.integer(1);
  MG_TRY(V iterator, iterate(ctx, args.positional[0]));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return total;
    MG_TRY(total, binary_operation(ctx, kMultiply, total, item));
  }
}

// floor, ceil and trunc ask objects for a method of that name.
template <Literal function, Literal method>
Outcome<V> rounded(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[0]);
  static PyObject* const real = [] {
    Ref module = Ref::steal(PyImport_ImportModule("math"));
    MG_CHECK(module, "the module math");
    return PyObject_GetAttr(module, name<function>());
  }();
  Ref result;
  MG_TRY(bool called, call_really(ctx, real, args, result));
  if (called) return ctx.constant(std::move(result));
  if (value->kind == Kind::Tensor)
    return ctx.graph_break("data-dependent",
                           std::string("math.") + function.text +
                               " of a tensor",
                           "use the torch function of that name");
  MG_TRY(V found, special_method(ctx, value, name<method>()));
  if (found) return call(ctx, found, {});
  return ctx.raise(PyExc_TypeError, std::string("must be real number, not ") +
                                        _PyType_Name(value->type));
}

constexpr const char* kMath = "math";
constexpr const char* kComplexMath = "cmath";

constexpr Row kRows[] = {
    {kMath, "prod", product, 1, 1, "start"},
    {kMath, "floor", rounded<"floor", "__floor__">, 1, 1, nullptr},
    {kMath, "ceil", rounded<"ceil", "__ceil__">, 1, 1, nullptr},
    {kMath, "trunc", rounded<"trunc", "__trunc__">, 1, 1, nullptr},
    row::pure(kMath, "acos"), row::pure(kMath, "acosh"),
    row::pure(kMath, "asin"), row::pure(kMath, "asinh"),
    row::pure(kMath, "atan"), row::pure(kMath, "atan2"),
    row::pure(kMath, "atanh"), row::pure(kMath, "cbrt"),
    row::pure(kMath, "comb"), row::pure(kMath, "copysign"),
    row::pure(kMath, "cos"), row::pure(kMath, "cosh"),
    row::pure(kMath, "degrees"), row::pure(kMath, "dist"),
    row::pure(kMath, "erf"), row::pure(kMath, "erfc"),
    row::pure(kMath, "exp"), row::pure(kMath, "exp2"),
    row::pure(kMath, "expm1"), row::pure(kMath, "fabs"),
    row::pure(kMath, "factorial"), row::pure(kMath, "fma"),
    row::pure(kMath, "fmod"), row::pure(kMath, "frexp"),
    row::pure(kMath, "fsum"), row::pure(kMath, "gamma"),
    row::pure(kMath, "gcd"), row::pure(kMath, "hypot"),
    row::pure(kMath, "isclose"), row::pure(kMath, "isfinite"),
    row::pure(kMath, "isinf"), row::pure(kMath, "isnan"),
    row::pure(kMath, "isqrt"), row::pure(kMath, "lcm"),
    row::pure(kMath, "ldexp"), row::pure(kMath, "lgamma"),
    row::pure(kMath, "log"), row::pure(kMath, "log10"),
    row::pure(kMath, "log1p"), row::pure(kMath, "log2"),
    row::pure(kMath, "modf"), row::pure(kMath, "nextafter"),
    row::pure(kMath, "perm"), row::pure(kMath, "pow"),
    row::pure(kMath, "radians"), row::pure(kMath, "remainder"),
    row::pure(kMath, "sin"), row::pure(kMath, "sinh"),
    row::pure(kMath, "sqrt"), row::pure(kMath, "sumprod"),
    row::pure(kMath, "tan"), row::pure(kMath, "tanh"),
    row::pure(kMath, "ulp"),
    row::pure(kComplexMath, "acos"), row::pure(kComplexMath, "acosh"),
    row::pure(kComplexMath, "asin"), row::pure(kComplexMath, "asinh"),
    row::pure(kComplexMath, "atan"), row::pure(kComplexMath, "atanh"),
    row::pure(kComplexMath, "cos"), row::pure(kComplexMath, "cosh"),
    row::pure(kComplexMath, "exp"), row::pure(kComplexMath, "isclose"),
    row::pure(kComplexMath, "isfinite"), row::pure(kComplexMath, "isinf"),
    row::pure(kComplexMath, "isnan"), row::pure(kComplexMath, "log"),
    row::pure(kComplexMath, "log10"), row::pure(kComplexMath, "phase"),
    row::pure(kComplexMath, "polar"), row::pure(kComplexMath, "rect"),
    row::pure(kComplexMath, "sin"), row::pure(kComplexMath, "sinh"),
    row::pure(kComplexMath, "sqrt"), row::pure(kComplexMath, "tan"),
    row::pure(kComplexMath, "tanh"),
};

}  // namespace

std::span<const Row> math_rows() { return kRows; }

}  // namespace magneto::natives
