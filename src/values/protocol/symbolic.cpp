// SPDX-License-Identifier: BSD-3-Clause
#include "values/protocol/symbolic.h"

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "shapes/environment.h"
#include "values/protocol/protocol.h"

namespace magneto::values {

using shapes::E;
using shapes::Expressions;
using shapes::Operation;
using shapes::Type;

namespace {

enum class Arithmetic : uint8_t {
  Unknown,
  Add,
  Subtract,
  Multiply,
  FloorDivide,
  Modulo,
  Power,
  TrueDivide,
  ShiftLeft,
  ShiftRight,
  And,
  Or,
  Xor,
};

// By CPython's NB_* numbers.
constexpr Arithmetic kArithmetic[] = {
    Arithmetic::Add,        Arithmetic::And,      Arithmetic::FloorDivide,
    Arithmetic::ShiftLeft,  Arithmetic::Unknown,  Arithmetic::Multiply,
    Arithmetic::Modulo,     Arithmetic::Or,       Arithmetic::Power,
    Arithmetic::ShiftRight, Arithmetic::Subtract, Arithmetic::TrueDivide,
    Arithmetic::Xor,
};

E as_int(Expressions& table, E e) {
  return e->type == Type::Boolean ? table.make(Operation::ToInteger, e) : e;
}

// Two ints, or two floats where one is a float. False if there is no such form.
bool unify(Expressions& table, E& a, E& b) {
  a = as_int(table, a);
  b = as_int(table, b);
  if (!a || !b) return false;
  if (a->type == b->type) return true;
  (a->type == Type::Integer ? a : b) =
      table.make(Operation::ToFloat, a->type == Type::Integer ? a : b);
  return a && b;
}

// An int that a float can't hold is compared by its value. The same question
// about two ints, where `a` is one and `b` a float that is known, or the other
// way round; none if that has no such form.
std::optional<std::pair<E, E>> as_ints(Expressions& table, int kind, E a, E b) {
  const bool is_first = b->type == Type::Float;
  E& real = is_first ? b : a;
  E& integer = is_first ? a : b;
  if (real->type != Type::Float || !real->is_constant() ||
      integer->type != Type::Integer)
    return {};
  const double value = real->value.real();
  // Half of what 64 bits hold; NaN is no such.
  if (!(std::abs(value) < 0x1p62)) return {};
  // i < 2.5 is i < 3, and i > 2.5 is i > 2; i <= 2.5 is i <= 2.
  const bool is_below = is_first ? kind == Py_LT || kind == Py_GE
                                 : kind == Py_GT || kind == Py_LE;
  if ((kind == Py_EQ || kind == Py_NE) && value != std::floor(value)) return {};
  real = table.integer(
      static_cast<int64_t>(is_below ? std::ceil(value) : std::floor(value)));
  return std::pair(a, b);
}

Signal unknown_truth(Context& ctx, E condition) {
  return ctx.graph_break(
      "data-dependent-branch", "whether " + unknown(ctx, condition),
      "say which with torch._check(...), use torch.where or torch.cond, or "
      "move the condition out of the compiled function");
}

Outcome<bool> decide(Context& ctx, E condition) {
  const std::optional<bool> answer =
      ctx.symbols.environment()->decide(condition);
  if (!answer) return unknown_truth(ctx, condition);
  return *answer;
}

// Not what more than 64 bits would be needed for, in the call that is traced.
Outcome<V> made(Context& ctx, E result) {
  return result && is_computable(ctx, result) ? ctx.symbols.value(result)
                                              : nullptr;
}

bool is_integral(E a, E b) {
  return a->type == Type::Integer && b->type == Type::Integer;
}

}  // namespace

std::string unknown(Context& ctx, E number) {
  const char* what = "a tensor's data";
  const shapes::Environment& environment = *ctx.symbols.environment();
  shapes::for_each_symbol(number, [&](shapes::SymbolId id) {
    const shapes::Symbol& symbol = environment.symbol(id);
    if (!symbol.is_given || symbol.is_backed) return;
    what = guards::is_drawn(ctx.symbols.sources()[id.index].kind)
               ? "a random number"
               : "a size that is marked as unbacked";
  });
  return environment.show_to_user(number) + " depends on " + what;
}

bool is_computable(Context& ctx, E number) {
  shapes::Environment& environment = *ctx.symbols.environment();
  return environment.hint(number) || environment.has_unbacked(number);
}

E number_of(Context& ctx, V value) {
  if (is_symbol(value)) return as<SymbolValue>(value)->number;
  if (!value->is_constant() || value->heap.valid()) return nullptr;
  PyObject* object = value->object;
  if (!PyLong_CheckExact(object) && !PyFloat_CheckExact(object) &&
      !PyBool_Check(object))
    return nullptr;
  return tensor::expression_of(ctx.symbols.environment(), object);
}

Outcome<V> symbolic_binary(Context& ctx, int op, V left, V right) {
  E a = number_of(ctx, left), b = number_of(ctx, right);
  if (!a || !b) return nullptr;
  Expressions& table = ctx.symbols.environment()->expressions();
  const Arithmetic what = kArithmetic[op];
  if (a->type == Type::Boolean && b->type == Type::Boolean) {
    const E both = table.make(Operation::And, a, b);
    const E any = table.make(Operation::Or, a, b);
    if (what == Arithmetic::And) return made(ctx, both);
    if (what == Arithmetic::Or) return made(ctx, any);
    if (what == Arithmetic::Xor)
      return made(ctx,
                  table.make(Operation::And, any, table.logical_not(both)));
  }
  if (!unify(table, a, b)) return nullptr;
  const E zero = table.integer(0);
  const bool integral = is_integral(a, b);
  // A condition that would need more than 64 bits is null.
  switch (what) {
    case Arithmetic::Add:
      return made(ctx, table.add(a, b));
    case Arithmetic::Subtract:
      return made(ctx, table.subtract(a, b));
    case Arithmetic::Multiply:
      return made(ctx, table.multiply(a, b));
    case Arithmetic::FloorDivide:
    case Arithmetic::Modulo:
    case Arithmetic::TrueDivide: {
      // Division by zero raises: plain numbers do it.
      const E no_divisor = table.equal(b, integral ? zero : table.real(0));
      if (!no_divisor) return nullptr;
      MG_TRY(bool is_zero, decide(ctx, no_divisor));
      if (is_zero) return nullptr;
      const Operation operation =
          what == Arithmetic::FloorDivide ? Operation::FloorDivide
          : what == Arithmetic::Modulo    ? Operation::Modulo
                                          : Operation::TrueDivide;
      return made(ctx, table.make(operation, a, b));
    }
    case Arithmetic::Power:
      if (!integral) {
        // To other than whole powers, zero may raise, and a negative number
        // give a complex one.
        const bool is_whole = b->is_constant() && b->value.real() >= 0 &&
                              b->value.real() == std::floor(b->value.real());
        if (!is_whole) {
          const E positive = table.less(table.real(0), a);
          if (!positive) return nullptr;
          MG_TRY(bool is_positive, decide(ctx, positive));
          if (!is_positive) return nullptr;
        }
        const E result = table.make(Operation::Power, a, b);
        return result && expect_finite(ctx, result) ? made(ctx, result)
                                                    : nullptr;
      }
      [[fallthrough]];
    case Arithmetic::ShiftLeft:
    case Arithmetic::ShiftRight: {
      // A negative exponent gives a float, a negative shift raises.
      if (!integral) return nullptr;
      const E negative = table.less(b, zero);
      if (!negative) return nullptr;
      MG_TRY(bool is_negative, decide(ctx, negative));
      if (is_negative) return nullptr;
      const Operation operation = what == Arithmetic::Power ? Operation::Power
                                  : what == Arithmetic::ShiftLeft
                                      ? Operation::ShiftLeft
                                      : Operation::ShiftRight;
      return made(ctx, table.make(operation, a, b));
    }
    case Arithmetic::And:
      return integral ? made(ctx, table.make(Operation::BitAnd, a, b))
                      : nullptr;
    case Arithmetic::Or:
      return integral ? made(ctx, table.make(Operation::BitOr, a, b)) : nullptr;
    case Arithmetic::Xor:
      return integral ? made(ctx, table.make(Operation::BitXor, a, b))
                      : nullptr;
    case Arithmetic::Unknown:
      break;
  }
  return nullptr;
}

Outcome<V> symbolic_compare(Context& ctx, int kind, V left, V right) {
  E a = number_of(ctx, left), b = number_of(ctx, right);
  if (!a || !b) return nullptr;
  Expressions& table = ctx.symbols.environment()->expressions();
  if (const auto exact = as_ints(table, kind, a, b)) {
    std::tie(a, b) = *exact;
  } else if (!unify(table, a, b))
    return nullptr;
  switch (kind) {
    case Py_EQ:
      return made(ctx, table.equal(a, b));
    case Py_NE:
      return made(ctx, table.logical_not(table.equal(a, b)));
    case Py_LT:
      return made(ctx, table.less(a, b));
    case Py_LE:
      return made(ctx, table.less_equal(a, b));
    case Py_GT:
      return made(ctx, table.less(b, a));
    default:
      return made(ctx, table.less_equal(b, a));
  }
}

Outcome<V> symbolic_negative(Context& ctx, V operand) {
  Expressions& table = ctx.symbols.environment()->expressions();
  E number = as_int(table, number_of(ctx, operand));
  return number ? made(ctx, table.negate(number)) : nullptr;
}

Outcome<V> symbolic_invert(Context& ctx, V operand) {
  Expressions& table = ctx.symbols.environment()->expressions();
  E number = as_int(table, number_of(ctx, operand));
  if (!number || number->type != Type::Integer) return nullptr;
  return made(ctx, table.subtract(table.integer(-1), number));
}

bool expect_finite(Context& ctx, E number) {
  shapes::Environment& environment = *ctx.symbols.environment();
  // The graph computes it, and fails there.
  if (environment.has_unbacked(number)) return true;
  if (!environment.hint(number)) return false;
  Expressions& table = environment.expressions();
  const E condition =
      table.less_equal(table.make(Operation::Absolute, number),
                       table.real(std::numeric_limits<double>::max()));
  return condition && environment.decide(condition).value_or(false);
}

E truth_of(Context& ctx, E number) {
  if (number->type == Type::Boolean) return number;
  Expressions& table = ctx.symbols.environment()->expressions();
  const E zero =
      number->type == Type::Integer ? table.integer(0) : table.real(0);
  const E is_zero = table.equal(number, zero);
  return is_zero ? table.logical_not(is_zero) : nullptr;
}

Outcome<bool> symbolic_truth(Context& ctx, V value) {
  if (const E condition = truth_of(ctx, number_of(ctx, value)))
    return decide(ctx, condition);
  return PyObject_IsTrue(ctx.look(value)->object) == 1;
}

E open_truth(Context& ctx, V value) {
  const E condition = truth_of(ctx, number_of(ctx, value));
  if (!condition) return nullptr;
  shapes::Environment& environment = *ctx.symbols.environment();
  const bool is_open =
      environment.has_unbacked(environment.simplify(condition)) &&
      !environment.known(condition);
  return is_open ? condition : nullptr;
}

}  // namespace magneto::values
