// SPDX-License-Identifier: BSD-3-Clause
// What expressions mean, written a second time: evaluation by Python's rules
// with ints of 128 bits, and random trees of operations to evaluate.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "shapes/expression.h"
#include "shapes/program.h"

namespace magneto::shapes::testing {

using Wide = __int128;

// A value, or why there is none.
struct Value {
  enum Kind { Present, Raises, TooLarge } kind = Raises;
  Type type = Type::Integer;
  Wide integer = 0;  // of a bool, too
  double real = 0;

  static Value of(Wide value) {
    constexpr Wide limit = Wide{1} << 120;
    if (value > limit || value < -limit) return {TooLarge};
    return {Present, Type::Integer, value};
  }
  static Value of_bool(bool value) { return {Present, Type::Boolean, value}; }
  static Value of_real(double value) {
    return {Present, Type::Float, 0, value};
  }
  bool is_present() const { return kind == Present; }
  bool same(const Value& other) const {
    if (type != other.type) return false;
    if (type != Type::Float) return integer == other.integer;
    return Number::of(real) == Number::of(other.real) ||
           (std::isnan(real) && std::isnan(other.real));
  }
};

inline Value raises() { return {Value::Raises}; }
inline Value too_large() { return {Value::TooLarge}; }

inline Wide floor_div(Wide a, Wide b) {
  Wide quotient = a / b;
  if (quotient * b != a && ((a < 0) != (b < 0))) --quotient;
  return quotient;
}

inline Value times(Wide a, Wide b) {
  Wide result;
  if (__builtin_mul_overflow(a, b, &result)) return too_large();
  return Value::of(result);
}

inline Value on_ints(Operation operation, Wide a, Wide b) {
  constexpr Wide exact = Wide{1} << 53;
  const auto is_exact = [](Wide x) { return -exact <= x && x <= exact; };
  switch (operation) {
    case Operation::Add:
      return Value::of(a + b);
    case Operation::Multiply:
      return times(a, b);
    case Operation::FloorDivide:
      return b == 0 ? raises() : Value::of(floor_div(a, b));
    case Operation::Modulo:
      return b == 0 ? raises() : Value::of(a - floor_div(a, b) * b);
    case Operation::Power: {
      if (b < 0) return raises();
      if (b > 200 && a != 0 && a != 1 && a != -1) return too_large();
      Value result = Value::of(1);
      for (Wide i = 0; i < (b > 200 ? 200 + b % 2 : b); ++i) {
        result = times(result.integer, a);
        if (!result.is_present()) return result;
      }
      return result;
    }
    case Operation::Minimum:
      return Value::of(b < a ? b : a);
    case Operation::Maximum:
      return Value::of(b > a ? b : a);
    case Operation::Absolute:
      return Value::of(a < 0 ? -a : a);
    case Operation::TrueDivide:
      if (b == 0) return raises();
      if (!is_exact(a) || !is_exact(b)) return too_large();
      return Value::of_real(static_cast<double>(a) / static_cast<double>(b));
    case Operation::BitAnd:
      return Value::of(a & b);
    case Operation::BitOr:
      return Value::of(a | b);
    case Operation::BitXor:
      return Value::of(a ^ b);
    case Operation::ShiftLeft:
      if (b < 0) return raises();
      if (a == 0) return Value::of(0);
      return b > 100 ? too_large() : times(a, Wide{1} << b);
    case Operation::ShiftRight:
      if (b < 0) return raises();
      return Value::of(b > 120 ? (a < 0 ? -1 : 0) : floor_div(a, Wide{1} << b));
    case Operation::ToFloat:
      if (!is_exact(a)) return too_large();
      return Value::of_real(static_cast<double>(a));
    case Operation::Equal:
      return Value::of_bool(a == b);
    case Operation::Less:
      return Value::of_bool(a < b);
    default:
      return Value::of_bool(a <= b);
  }
}

// Floats are computed by apply(), whose rules have a test of their own; here it
// matters that expressions keep them in order.
inline Value on_numbers(Operation operation, Type type, const Value& a,
                        const Value& b) {
  const auto number = [&](const Value& value) {
    return type == Type::Float ? Number::of(value.real)
                               : Number::of(value.integer != 0);
  };
  const auto result = apply(operation, type, number(a), number(b));
  if (!result) return raises();
  switch (operation) {
    case Operation::ToInteger:
    case Operation::Truncate:
    case Operation::Floor:
    case Operation::Ceiling:
    case Operation::Round:
      return Value::of(result->integer());
    case Operation::Equal:
    case Operation::Less:
    case Operation::LessEqual:
      return Value::of_bool(result->truth());
    default:
      return type == Type::Float ? Value::of_real(result->real())
                                 : Value::of_bool(result->truth());
  }
}

inline Value operate(Operation operation, const Value& a, const Value& b) {
  if (!a.is_present()) return a;
  if (!b.is_present()) return b;
  return a.type == Type::Integer ? on_ints(operation, a.integer, b.integer)
                                 : on_numbers(operation, a.type, a, b);
}

inline Value value_of(Type type, Number number) {
  if (type == Type::Float) return Value::of_real(number.real());
  return {Value::Present, type, number.integer()};
}

// By symbol.
using Assignment = std::vector<Number>;

inline Value evaluate(E e, const Assignment& symbols) {
  if (e->is_constant()) return value_of(e->type, e->value);
  if (e->is_symbol()) return value_of(e->type, symbols[e->symbol.index]);
  Value result = evaluate(e->operands[0], symbols);
  if (e->operands.size() == 1) return operate(e->operation, result, result);
  for (E operand : e->operands.subspan(1)) {
    result = operate(e->operation, result, evaluate(operand, symbols));
  }
  return result;
}

// A tree of operations as a program would write them.
struct Tree {
  Operation operation = Operation::Constant;
  Type type = Type::Integer;
  Number value = {};
  SymbolId symbol = {};
  std::vector<Tree> operands = {};
};

inline Value evaluate(const Tree& tree, const Assignment& symbols) {
  if (tree.operation == Operation::Constant) {
    return value_of(tree.type, tree.value);
  }
  if (tree.operation == Operation::Symbol) {
    return value_of(tree.type, symbols[tree.symbol.index]);
  }
  const Value left = evaluate(tree.operands[0], symbols);
  if (tree.operands.size() == 1) return operate(tree.operation, left, left);
  return operate(tree.operation, left, evaluate(tree.operands[1], symbols));
}

inline E make(Expressions& expressions, const Tree& tree) {
  if (tree.operation == Operation::Constant) {
    return expressions.constant(tree.type, tree.value);
  }
  if (tree.operation == Operation::Symbol) {
    return expressions.symbol(tree.symbol, tree.type);
  }
  std::vector<E> operands;
  for (const Tree& operand : tree.operands) {
    operands.push_back(make(expressions, operand));
    if (!operands.back()) return nullptr;
  }
  return expressions.make(tree.operation, operands);
}

// Random trees over `ints` int symbols, then `floats` and `bools`.
struct Random {
  explicit Random(uint32_t seed) : engine(seed) {}

  uint32_t ints = 3, floats = 1, bools = 1;
  std::mt19937 engine;

  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine);
  }
  bool one_in(int n) { return between(1, n) == 1; }

  double real() {
    constexpr double values[] = {0.0,  -0.0,  1.0, -1.0, 0.5,      2.5,
                                 -3.5, 1e300, 3.0, 7.25, INFINITY, NAN};
    return values[between(0, 11)];
  }

  int64_t integer() {
    if (one_in(12)) return between(-1000, 1000);
    return between(-7, 7);
  }

  Assignment assignment(int64_t least = -20, int64_t most = 20) {
    Assignment result;
    for (uint32_t i = 0; i < ints; ++i) {
      result.push_back(Number::of(between(least, most)));
    }
    for (uint32_t i = 0; i < floats; ++i) result.push_back(Number::of(real()));
    for (uint32_t i = 0; i < bools; ++i) {
      result.push_back(Number::of(one_in(2)));
    }
    return result;
  }

  template <size_t N>
  Operation pick(const Operation (&from)[N]) {
    return from[between(0, N - 1)];
  }

  Tree symbol(Type type, int64_t first, uint32_t count) {
    return {Operation::Symbol,
            type,
            {},
            SymbolId(static_cast<size_t>(between(first, first + count - 1)))};
  }

  Tree leaf(Type type) {
    const bool is_symbol = !one_in(3);
    switch (type) {
      case Type::Integer:
        if (is_symbol && ints > 0) return symbol(type, 0, ints);
        return {Operation::Constant, type, Number::of(integer())};
      case Type::Float:
        if (is_symbol && floats > 0) return symbol(type, ints, floats);
        return {Operation::Constant, type, Number::of(real())};
      default:
        if (is_symbol && bools > 0) return symbol(type, ints + floats, bools);
        return {Operation::Constant, type, Number::of(one_in(2))};
    }
  }

  Tree unary(Operation operation, Type result, Type operand, int depth) {
    return {operation, result, {}, {}, {tree(operand, depth - 1)}};
  }
  Tree binary(Operation operation, Type result, Type operand, int depth) {
    return {operation,
            result,
            {},
            {},
            {tree(operand, depth - 1), tree(operand, depth - 1)}};
  }

  Tree tree(Type type, int depth) {
    if (depth == 0 || one_in(6)) return leaf(type);
    using O = Operation;
    switch (type) {
      case Type::Integer: {
        if (floats > 0 && one_in(15)) {
          static constexpr O kFromFloat[] = {O::Truncate, O::Floor, O::Ceiling,
                                             O::Round};
          return unary(pick(kFromFloat), type, Type::Float, depth);
        }
        if (bools > 0 && one_in(15)) {
          return unary(O::ToInteger, type, Type::Boolean, depth);
        }
        if (one_in(15)) return unary(O::Absolute, type, type, depth);
        static constexpr O kInts[] = {
            O::Add,         O::Add,         O::Add,      O::Add,
            O::Multiply,    O::Multiply,    O::Multiply, O::FloorDivide,
            O::FloorDivide, O::FloorDivide, O::Modulo,   O::Modulo,
            O::Modulo,      O::Minimum,     O::Maximum,  O::Power,
            O::BitAnd,      O::BitOr,       O::BitXor,   O::ShiftLeft,
            O::ShiftRight};
        const O operation = pick(kInts);
        Tree result = binary(operation, type, type, depth);
        const bool divides =
            operation == O::FloorDivide || operation == O::Modulo;
        if ((divides && one_in(2)) || operation == O::Power ||
            operation == O::ShiftLeft) {
          result.operands[1] = {O::Constant, type, Number::of(between(-2, 6))};
        }
        return result;
      }
      case Type::Float: {
        if (one_in(3)) return unary(O::ToFloat, type, Type::Integer, depth);
        if (one_in(4)) return binary(O::TrueDivide, type, Type::Integer, depth);
        if (one_in(4)) {
          static constexpr O kUnary[] = {O::Sqrt, O::Exp,  O::Log,     O::Sin,
                                         O::Cos,  O::Tanh, O::Absolute};
          return unary(pick(kUnary), type, type, depth);
        }
        static constexpr O kFloats[] = {
            O::Add,     O::Add,     O::Multiply,   O::FloorDivide, O::Modulo,
            O::Minimum, O::Maximum, O::TrueDivide, O::Power,       O::CopySign};
        return binary(pick(kFloats), type, type, depth);
      }
      default: {
        static constexpr O kCompare[] = {O::Equal, O::Less, O::LessEqual};
        static constexpr O kLogic[] = {O::And, O::Or};
        if (one_in(5)) return unary(O::Not, type, type, depth);
        if (one_in(4)) return binary(pick(kLogic), type, type, depth);
        if (floats > 0 && one_in(5)) {
          return binary(pick(kCompare), type, Type::Float, depth);
        }
        return binary(pick(kCompare), type, Type::Integer, depth);
      }
    }
  }

  Type type() {
    return one_in(4) ? Type::Float : one_in(3) ? Type::Boolean : Type::Integer;
  }
};

}  // namespace magneto::shapes::testing
