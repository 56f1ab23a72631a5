// SPDX-License-Identifier: BSD-3-Clause
// math and cmath: pure on numbers.
#include <algorithm>

#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/names.h"

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
    Ref module = import_module("math");
    MG_CHECK(module, "the module math");
    return PyObject_GetAttr(module, name<function>());
  }();
  Ref result;
  MG_TRY(bool called, call_really(ctx, real, args, result));
  if (called) return ctx.constant(std::move(result));
  if (value->kind == Kind::Tensor)
    return ctx.graph_break(
        "data-dependent", std::string("math.") + function.text + " of a tensor",
        "use the torch function of that name");
  MG_TRY(V found, special_method(ctx, value, name<method>()));
  if (found) return call(ctx, found, {});
  constexpr bool kIsTrunc = std::string_view(function.text) == "trunc";
  for (PyObject* asked : {name<"__float__">(), name<"__index__">()}) {
    if (kIsTrunc) break;
    MG_TRY(found, special_method(ctx, value, asked));
    if (!found) continue;
    MG_TRY(V number,
           call(ctx,
                ctx.constant_share(reinterpret_cast<PyObject*>(&PyFloat_Type)),
                {value}));
    return call(ctx, ctx.constant_share(real), {number});
  }
  const std::string type = value->type->tp_name;
  return ctx.raise(PyExc_TypeError,
                   kIsTrunc
                       ? "type " + type + " doesn't define __trunc__ method"
                       : "must be real number, not " + type);
}

PyObject* function_of_math(const char* function) {
  Ref module = import_module("math");
  MG_CHECK(module, "the module math");
  PyObject* found = PyObject_GetAttrString(module, function);
  MG_CHECK(found, "a function of math");  // lives as long as the module
  return found;
}

bool may_be_a_number(Context& ctx, V value, bool may_be_real) {
  const PyNumberMethods* methods = value->type->tp_as_number;
  if (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    (void)type_lookup(ctx, value->type, interned().dunder_float);
  return (may_be_real && methods && methods->nb_float) ||
         values::has_index(ctx, value->type);
}

// Functions of numbers; objects are asked for one, in order.
template <Literal function, Literal... methods>
Outcome<V> of_numbers(Context& ctx, const Arguments& args) {
  static PyObject* const real = function_of_math(function.text);
  // That of the number comes before a look at the base.
  constexpr bool is_logarithm = std::string_view(function.text) == "log";
  std::vector<V> numbers;
  Ref result;
  for (V value : args.positional) {
    value = ctx.look(value);
    if (value->kind == Kind::Tensor)
      return ctx.graph_break(
          "data-dependent",
          std::string("math.") + function.text + " of a tensor",
          "use the torch function of that name");
    if ((value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        value->kind == Kind::Object ||
        (value->is_constant() && !is_safe(value->object))) {
      PyObject* const asked[] = {name<methods>()...};
      const bool is_float = value->is_constant() &&
                            PyFloat_Check(value->object) &&
                            asked[0] == name<"__float__">();
      for (PyObject* method : asked) {
        // Whatever the methods of a class derived from int or float say.
        if (value->is_constant() && PyLong_Check(value->object) &&
            method == name<"__index__">()) {
          MG_TRY(value, values::as_index(ctx, value));
          break;
        }
        if (is_float) {
          value = ctx.constant(
              Ref::steal(PyFloat_FromDouble(PyFloat_AS_DOUBLE(value->object))));
          break;
        }
        MG_TRY(V found, special_method(ctx, value, method));
        if (!found) continue;
        const std::string class_name = value->type->tp_name;
        MG_TRY(value, method == name<"__index__">()
                          ? values::as_index(ctx, value)
                          : call(ctx, found, {}));
        value = ctx.look_symbolic(value);
        if (method == name<"__float__">() &&
            !PyType_IsSubtype(value->type, &PyFloat_Type))
          return ctx.raise(PyExc_TypeError,
                           class_name + ".__float__ returned non-float (type " +
                               value->type->tp_name + ")");
        break;
      }
    }
    numbers.push_back(value);
    // The others aren't looked at.
    if (!may_be_a_number(ctx, value, sizeof...(methods) > 1)) break;
    if (is_logarithm && numbers.size() == 1)
      MG_DO(call_really(ctx, real, {.positional = numbers}, result));
  }
  numbers.resize(args.count(), numbers.empty() ? nullptr : numbers.back());
  MG_TRY(bool called, call_really(ctx, real, {.positional = numbers}, result));
  if (called) return from_constant(ctx, std::move(result));
  for (V value : numbers)
    if (!safe_object(ctx, value))
      return ctx.raise(PyExc_TypeError,
                       sizeof...(methods) > 1
                           ? std::string("must be real number, not ") +
                                 ctx.look(value)->type->tp_name
                           : std::string("'") + ctx.look(value)->type->tp_name +
                                 "' object cannot be interpreted as an "
                                 "integer");
  MG_CHECK(false, "an argument isn't plain data");
}

// math.fsum(iterable)
Outcome<V> exact_sum(Context& ctx, const Arguments& args) {
  static PyObject* const real = function_of_math("fsum");
  std::vector<V> items;
  MG_DO(unpack(ctx, args.positional[0], items));
  // Behind one that isn't a number, an iterator stands where it is.
  const bool is_iterator = ctx.look(args.positional[0])->type->tp_iternext;
  const bool are_numbers = std::ranges::all_of(items, [&](V item) {
    item = ctx.look(item);
    return item->is_constant() &&
           (PyFloat_Check(item->object) || PyLong_Check(item->object));
  });
  if (are_numbers || !is_iterator) {
    V listed = ctx.list(items);
    Ref result;
    MG_TRY(bool called,
           call_really(ctx, real, {.positional = {&listed, 1}}, result));
    if (called) return ctx.constant(std::move(result));
  }
  return ctx.graph_break("native-call", "math.fsum of unknown values",
                         "use Python numbers");
}

constexpr const char* kMath = "math";

#define MG_REAL(function, count)                                            \
  {                                                                         \
    kMath, function, of_numbers<function, "__float__", "__index__">, count, \
        count, nullptr                                                      \
  }
#define MG_INTEGER(function, least, most) \
  { kMath, function, of_numbers<function, "__index__">, least, most, nullptr }
constexpr const char* kComplexMath = "cmath";

constexpr Row kRows[] = {
    {kMath, "prod", product, 1, 1, "/ start"},
    {kMath, "floor", rounded<"floor", "__floor__">, 1, 1, nullptr},
    {kMath, "ceil", rounded<"ceil", "__ceil__">, 1, 1, nullptr},
    {kMath, "trunc", rounded<"trunc", "__trunc__">, 1, 1, nullptr},
    MG_REAL("acos", 1),
    MG_REAL("acosh", 1),
    MG_REAL("asin", 1),
    MG_REAL("asinh", 1),
    MG_REAL("atan", 1),
    MG_REAL("atan2", 2),
    MG_REAL("atanh", 1),
    MG_REAL("cbrt", 1),
    MG_INTEGER("comb", 2, 2),
    MG_REAL("copysign", 2),
    MG_REAL("cos", 1),
    MG_REAL("cosh", 1),
    MG_REAL("degrees", 1),
    row::pure(kMath, "dist"),
    MG_REAL("erf", 1),
    MG_REAL("erfc", 1),
    MG_REAL("exp", 1),
    MG_REAL("exp2", 1),
    MG_REAL("expm1", 1),
    MG_REAL("fabs", 1),
    MG_INTEGER("factorial", 1, 1),
    row::pure(kMath, "fma"),
    MG_REAL("fmod", 2),
    MG_REAL("frexp", 1),
    {kMath, "fsum", exact_sum, 1, 1, nullptr},
    MG_REAL("gamma", 1),
    MG_INTEGER("gcd", 0, kAny),
    {kMath, "hypot", of_numbers<"hypot", "__float__", "__index__">, 0, kAny,
     nullptr},
    row::pure(kMath, "isclose"),
    MG_REAL("isfinite", 1),
    MG_REAL("isinf", 1),
    MG_REAL("isnan", 1),
    MG_INTEGER("isqrt", 1, 1),
    MG_INTEGER("lcm", 0, kAny),
    row::pure(kMath, "ldexp"),
    MG_REAL("lgamma", 1),
    {kMath, "log", of_numbers<"log", "__float__", "__index__">, 1, 2, nullptr},
    MG_REAL("log10", 1),
    MG_REAL("log1p", 1),
    MG_REAL("log2", 1),
    MG_REAL("modf", 1),
    MG_REAL("nextafter", 2),
    MG_INTEGER("perm", 1, 2),
    MG_REAL("pow", 2),
    MG_REAL("radians", 1),
    MG_REAL("remainder", 2),
    MG_REAL("sin", 1),
    MG_REAL("sinh", 1),
    MG_REAL("sqrt", 1),
    row::pure(kMath, "sumprod"),
    MG_REAL("tan", 1),
    MG_REAL("tanh", 1),
    MG_REAL("ulp", 1),
    row::pure(kComplexMath, "acos"),
    row::pure(kComplexMath, "acosh"),
    row::pure(kComplexMath, "asin"),
    row::pure(kComplexMath, "asinh"),
    row::pure(kComplexMath, "atan"),
    row::pure(kComplexMath, "atanh"),
    row::pure(kComplexMath, "cos"),
    row::pure(kComplexMath, "cosh"),
    row::pure(kComplexMath, "exp"),
    row::pure(kComplexMath, "isclose"),
    row::pure(kComplexMath, "isfinite"),
    row::pure(kComplexMath, "isinf"),
    row::pure(kComplexMath, "isnan"),
    row::pure(kComplexMath, "log"),
    row::pure(kComplexMath, "log10"),
    row::pure(kComplexMath, "phase"),
    row::pure(kComplexMath, "polar"),
    row::pure(kComplexMath, "rect"),
    row::pure(kComplexMath, "sin"),
    row::pure(kComplexMath, "sinh"),
    row::pure(kComplexMath, "sqrt"),
    row::pure(kComplexMath, "tan"),
    row::pure(kComplexMath, "tanh"),
};

#undef MG_REAL
#undef MG_INTEGER

}  // namespace

std::span<const Row> math_rows() { return kRows; }

}  // namespace magneto::natives
