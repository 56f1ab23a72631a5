// SPDX-License-Identifier: BSD-3-Clause
#include "natives/symbolic.h"

#include <numbers>
#include <unordered_map>

#include "python/find.h"
#include "shapes/environment.h"
#include "support/forever.h"
#include "values/protocol/symbolic.h"

namespace magneto::natives {

namespace {

using shapes::E;
using shapes::Expressions;
using shapes::Operation;
using shapes::Type;

// What a function makes of numbers; null if it has no expression for it.
using Maker = E (*)(Context& ctx, std::span<const E> numbers);

Expressions& table_of(Context& ctx) {
  return ctx.symbols.environment()->expressions();
}

E made(Context& ctx, Operation operation, E number) {
  return number ? table_of(ctx).make(operation, number) : nullptr;
}

E as_int(Context& ctx, E number) {
  return number->type == Type::Boolean ? made(ctx, Operation::ToInteger, number)
                                       : number;
}
E as_float(Context& ctx, E number) {
  number = as_int(ctx, number);
  return number && number->type == Type::Integer
             ? made(ctx, Operation::ToFloat, number)
             : number;
}

bool holds(Context& ctx, E condition) {
  return condition &&
         ctx.symbols.environment()->decide(condition).value_or(false);
}

// floor, ceil, trunc, int: ints stay what they are.
template <Operation operation>
E rounded(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() != 1) return nullptr;
  if (numbers[0]->type != Type::Float) return as_int(ctx, numbers[0]);
  if (!values::expect_finite(ctx, numbers[0])) return nullptr;
  return made(ctx, operation, numbers[0]);
}

// A float stands for no index.
E index_of(Context& ctx, std::span<const E> numbers) {
  return numbers.size() == 1 && numbers[0]->type != Type::Float
             ? as_int(ctx, numbers[0])
             : nullptr;
}

E to_float(Context& ctx, std::span<const E> numbers) {
  return numbers.size() == 1 ? as_float(ctx, numbers[0]) : nullptr;
}

E to_bool(Context& ctx, std::span<const E> numbers) {
  return numbers.size() == 1 ? values::truth_of(ctx, numbers[0]) : nullptr;
}

E absolute(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() != 1) return nullptr;
  return made(ctx, Operation::Absolute, as_int(ctx, numbers[0]));
}

// Of ints: with floats, equal numbers of both types would have to be told
// apart.
template <Operation operation>
E extreme(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() < 2) return nullptr;
  for (E number : numbers)
    if (number->type != Type::Integer) return nullptr;
  return table_of(ctx).make(operation, numbers);
}

E negation(Context& ctx, std::span<const E> numbers) {
  return numbers.size() == 1 && numbers[0]->type == Type::Boolean
             ? table_of(ctx).logical_not(numbers[0])
             : nullptr;
}

template <Operation operation>
E of_float(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() != 1) return nullptr;
  const E result = made(ctx, operation, as_float(ctx, numbers[0]));
  return result && values::expect_finite(ctx, result) ? result : nullptr;
}

// Where a function of a float is defined: elsewhere it raises.
enum class Domain : uint8_t {
  Positive,     // 0 < x
  NotNegative,  // 0 <= x
  AboveMinus1,  // -1 < x
  From1,        // 1 <= x
  Unit,         // -1 <= x <= 1
  InUnit,       // -1 < x < 1
};

bool is_in(Context& ctx, Domain domain, E number) {
  Expressions& table = table_of(ctx);
  const auto limit = [&](int value) {
    return number->type == Type::Integer ? table.integer(value)
                                         : table.real(value);
  };
  const auto less = [&](E a, E b) { return holds(ctx, table.less(a, b)); };
  const auto no_more = [&](E a, E b) {
    return holds(ctx, table.less_equal(a, b));
  };
  switch (domain) {
    case Domain::Positive:
      return less(limit(0), number);
    case Domain::NotNegative:
      return no_more(limit(0), number);
    case Domain::AboveMinus1:
      return less(limit(-1), number);
    case Domain::From1:
      return no_more(limit(1), number);
    case Domain::Unit:
      return no_more(limit(-1), number) && no_more(number, limit(1));
    case Domain::InUnit:
      return less(limit(-1), number) && less(number, limit(1));
  }
  return false;
}

template <Operation operation, Domain domain>
E within(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() != 1) return nullptr;
  const E number = as_int(ctx, numbers[0]);
  return number && is_in(ctx, domain, number)
             ? made(ctx, operation, as_float(ctx, number))
             : nullptr;
}

// Of two floats, defined for all.
template <Operation operation>
E of_two(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() != 2) return nullptr;
  const E first = as_float(ctx, numbers[0]), second = as_float(ctx, numbers[1]);
  return first && second ? table_of(ctx).make(operation, first, second)
                         : nullptr;
}

// math.pow of a positive number is what `**` gives.
E power(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() != 2 || !as_int(ctx, numbers[0]) ||
      !is_in(ctx, Domain::Positive, as_int(ctx, numbers[0])))
    return nullptr;
  const E result = of_two<Operation::Power>(ctx, numbers);
  return result && values::expect_finite(ctx, result) ? result : nullptr;
}

E absolute_float(Context& ctx, std::span<const E> numbers) {
  return numbers.size() == 1
             ? made(ctx, Operation::Absolute, as_float(ctx, numbers[0]))
             : nullptr;
}

// degrees, radians: what CPython multiplies by.
constexpr double kDegrees = 180.0 / std::numbers::pi;
constexpr double kRadians = std::numbers::pi / 180.0;

template <double factor>
E multiple(Context& ctx, std::span<const E> numbers) {
  if (numbers.size() != 1) return nullptr;
  const E number = as_float(ctx, numbers[0]);
  Expressions& table = table_of(ctx);
  return number ? table.make(Operation::Multiply, number, table.real(factor))
                : nullptr;
}

struct SymbolicRow {
  const char* module;
  const char* name;
  Maker make;
};

constexpr SymbolicRow kRows[] = {
    {"builtins", "int", rounded<Operation::Truncate>},
    {"builtins", "float", to_float},
    {"builtins", "bool", to_bool},
    {"builtins", "abs", absolute},
    {"builtins", "min", extreme<Operation::Minimum>},
    {"builtins", "max", extreme<Operation::Maximum>},
    {"builtins", "round", rounded<Operation::Round>},
    {"_operator", "index", index_of},
    {"_operator", "abs", absolute},
    {"_operator", "not_", negation},
    {"math", "floor", rounded<Operation::Floor>},
    {"math", "ceil", rounded<Operation::Ceiling>},
    {"math", "trunc", rounded<Operation::Truncate>},
    {"math", "sqrt", within<Operation::Sqrt, Domain::NotNegative>},
    {"math", "log", within<Operation::Log, Domain::Positive>},
    {"math", "log2", within<Operation::Log2, Domain::Positive>},
    {"math", "log10", within<Operation::Log10, Domain::Positive>},
    {"math", "log1p", within<Operation::Log1p, Domain::AboveMinus1>},
    {"math", "exp2", of_float<Operation::Exp2>},
    {"math", "expm1", of_float<Operation::Expm1>},
    {"math", "cbrt", of_float<Operation::Cbrt>},
    {"math", "erf", of_float<Operation::Erf>},
    {"math", "erfc", of_float<Operation::Erfc>},
    {"math", "exp", of_float<Operation::Exp>},
    {"math", "sin", of_float<Operation::Sin>},
    {"math", "cos", of_float<Operation::Cos>},
    {"math", "tan", of_float<Operation::Tan>},
    {"math", "asin", within<Operation::Asin, Domain::Unit>},
    {"math", "acos", within<Operation::Acos, Domain::Unit>},
    {"math", "atan", of_float<Operation::Atan>},
    {"math", "sinh", of_float<Operation::Sinh>},
    {"math", "cosh", of_float<Operation::Cosh>},
    {"math", "tanh", of_float<Operation::Tanh>},
    {"math", "asinh", of_float<Operation::Asinh>},
    {"math", "acosh", within<Operation::Acosh, Domain::From1>},
    {"math", "atanh", within<Operation::Atanh, Domain::InUnit>},
    {"math", "atan2", of_two<Operation::Atan2>},
    {"math", "copysign", of_two<Operation::CopySign>},
    {"math", "pow", power},
    {"math", "fabs", absolute_float},
    {"math", "degrees", multiple<kDegrees>},
    {"math", "radians", multiple<kRadians>},
    {"torch", "sym_int", rounded<Operation::Truncate>},
    {"torch", "sym_float", to_float},
    {"torch", "sym_max", extreme<Operation::Maximum>},
    {"torch", "sym_min", extreme<Operation::Minimum>},
    {"torch", "sym_not", negation},
};

// By the function itself; they live as long as the process.
Maker maker_of(PyObject* callable) {
  static const auto* const makers = forever([] {
    std::unordered_map<PyObject*, Maker> map;
    for (const SymbolicRow& row : kRows) {
      Ref module = import_module(row.module);
      MG_CHECK(module, row.module);
      PyObject* function = PyObject_GetAttrString(module, row.name);
      MG_CHECK(function, row.name);
      map.emplace(function, row.make);
    }
    return map;
  }());
  auto found = makers->find(callable);
  return found == makers->end() ? nullptr : found->second;
}

// What may be a Symbol once it is looked at.
bool may_be_symbol(V value) {
  return is_symbol(value) ||
         (value->kind == Kind::Lazy &&
          (value->type == &PyLong_Type || value->type == &PyFloat_Type));
}

}  // namespace

Outcome<V> call_symbolic(Context& ctx, PyObject* callable,
                         const Arguments& args) {
  if (args.has_keywords()) return nullptr;
  bool is_candidate = false;
  for (V value : args.positional)
    is_candidate = is_candidate || may_be_symbol(value);
  if (!is_candidate) return nullptr;
  const Maker make = maker_of(callable);
  if (!make) return nullptr;
  std::vector<E> numbers;
  bool is_symbolic = false;
  for (V value : args.positional) {
    value = ctx.look_symbolic(value);
    is_symbolic = is_symbolic || is_symbol(value);
    numbers.push_back(is_symbol(value) || value->is_constant()
                          ? number_of(ctx, value)
                          : nullptr);
    if (!numbers.back()) return nullptr;
  }
  if (!is_symbolic) return nullptr;
  E result = make(ctx, numbers);
  return result && values::is_computable(ctx, result)
             ? ctx.symbols.value(result)
             : nullptr;
}

}  // namespace magneto::natives
