// SPDX-License-Identifier: BSD-3-Clause
// Powers, minima and maxima, absolute values, bit operations and shifts.
#include <algorithm>

#include "shapes/table.h"

namespace magneto::shapes {

namespace {

// Higher constant powers aren't multiplied out.
constexpr int64_t kMostFactors = 8;
// More operands of a minimum aren't compared with each other.
constexpr size_t kMostCompared = 16;

bool is_int(E e, int64_t value) {
  return e->is_constant() && e->value.integer() == value;
}

}  // namespace

E Expressions::Table::power(E base, E exponent) {
  if (exponent->is_constant()) {
    const int64_t times = exponent->value.integer();
    if (times < 0) return nullptr;
    if (times == 0) return integer(1);
    if (times <= kMostFactors) {
      List factors;
      for (int64_t i = 0; i < times; ++i) factors.push_back(base);
      return multiply_ints(factors);
    }
  }
  const E both[] = {base, exponent};
  return intern(Operation::Power, Type::Integer, both);
}

// Of two operands with a constant difference, one is never the result.
E Expressions::Table::extremum(Operation operation,
                               std::span<const E> operands) {
  List flat;
  for (E operand : operands) {
    if (operand->operation == operation) {
      flat.append(operand->operands);
    } else {
      flat.push_back(operand);
    }
  }
  std::sort(flat.begin(), flat.end(), [](E a, E b) { return a->id < b->id; });
  flat.resize_down(static_cast<size_t>(std::unique(flat.begin(), flat.end()) -
                                       flat.begin()));
  if (flat.size() <= kMostCompared) {
    const bool least = operation == Operation::Minimum;
    for (size_t i = 0; i < flat.size(); ++i) {
      for (size_t j = i + 1; j < flat.size();) {
        Sum difference = sum_of(flat[i]);
        if (!difference.add(sum_of(flat[j]), -1) || !difference.terms.empty()) {
          ++j;
          continue;
        }
        if ((difference.constant < 0) != least) flat[i] = flat[j];
        flat.erase(j);
        j = i + 1;
      }
    }
    std::sort(flat.begin(), flat.end(), [](E a, E b) { return a->id < b->id; });
  }
  if (flat.size() == 1) return flat[0];
  return intern(operation, Type::Integer, flat);
}

E Expressions::Table::absolute(E a) {
  if (a->operation == Operation::Absolute) return a;
  if (a->type == Type::Integer) {
    const Sum sum = sum_of(a);
    if (sum.terms[0].coefficient < 0) {
      if (const E negated = negate(a)) a = negated;
    }
  }
  return intern(Operation::Absolute, a->type, std::span(&a, 1));
}

E Expressions::Table::bitwise(Operation operation, E a, E b) {
  if (b->id < a->id) std::swap(a, b);
  for (E operand : {a, b}) {
    const E other = operand == a ? b : a;
    if (is_int(operand, 0)) {
      return operation == Operation::BitAnd ? operand : other;
    }
    if (is_int(operand, -1) && operation == Operation::BitAnd) return other;
    if (is_int(operand, -1) && operation == Operation::BitOr) return operand;
  }
  if (a == b) return operation == Operation::BitXor ? integer(0) : a;
  const E both[] = {a, b};
  return intern(operation, Type::Integer, both);
}

E Expressions::Table::shift(Operation operation, E a, E b) {
  if (b->is_constant()) {
    const int64_t places = b->value.integer();
    if (places < 0) return nullptr;
    if (places < 63) {
      return binary(operation == Operation::ShiftLeft ? Operation::Multiply
                                                      : Operation::FloorDivide,
                    a, integer(int64_t{1} << places));
    }
  }
  const E both[] = {a, b};
  return intern(operation, Type::Integer, both);
}

}  // namespace magneto::shapes
