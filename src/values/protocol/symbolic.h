// SPDX-License-Identifier: BSD-3-Clause
// Python's operators on numbers of which at least one is a Symbol. Each gives a
// null value where it isn't about that, or where the result can't be written as
// an expression: then the numbers of the call that is traced count.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// `op` is CPython's NB_* number, not in place; operands looked at.
Outcome<V> symbolic_binary(Context& ctx, int op, V left, V right);
Outcome<V> symbolic_compare(Context& ctx, int kind, V left, V right);
Outcome<V> symbolic_negative(Context& ctx, V operand);
Outcome<V> symbolic_invert(Context& ctx, V operand);
// Guards that a float is neither infinite nor NaN, for operations that raise
// otherwise. False where it is one of these in the traced call.
bool expect_finite(Context& ctx, shapes::E number);
// The condition that bool(number) stands for; null where it would need more
// than 64 bits.
shapes::E truth_of(Context& ctx, shapes::E number);
// bool(value), decided.
Outcome<bool> symbolic_truth(Context& ctx, V value);

// The condition that bool(value) is, if only the graph's run can tell; else
// null.
shapes::E open_truth(Context& ctx, V value);

// "x.size(0) // u0 depends on a tensor's data": why it has no value.
std::string unknown(Context& ctx, shapes::E number);

// Whether the numbers of the call that is traced, or data, give it a value.
bool is_computable(Context& ctx, shapes::E number);

// The number of a Symbol, or of an int, float or bool that is known; null for
// anything else.
shapes::E number_of(Context& ctx, V value);
inline bool is_symbol(V value) { return value->kind == Kind::Symbol; }
// Operands that symbolic_binary and symbolic_compare are about; with a tensor,
// a Symbol is an operand of the tensor's operator.
inline bool has_symbol(V left, V right) {
  return (is_symbol(left) || is_symbol(right)) && left->kind != Kind::Tensor &&
         right->kind != Kind::Tensor;
}

}  // namespace magneto::values
