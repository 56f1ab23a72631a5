// SPDX-License-Identifier: BSD-3-Clause
// The operators: what they are called, and what C code runs for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/ref.h"

namespace magneto::values {

// CPython's NB_* numbers, in order; in place from kBinaryOperators on.
enum class BinaryOperator : uint8_t {
  Add,
  And,
  FloorDivide,
  LeftShift,
  MatrixMultiply,
  Multiply,
  Modulo,
  Or,
  Power,
  RightShift,
  Subtract,
  TrueDivide,
  Xor,
};
inline constexpr int kBinaryOperators = 13;

// Functions of the operator module and interned method names live as long as
// the process, as the module itself does.
struct BinaryOperatorInfo {
  PyObject* function;         // operator.add
  PyObject* in_place;         // operator.iadd
  PyObject* method;           // "__add__"
  PyObject* reflected;        // "__radd__"
  PyObject* in_place_method;  // "__iadd__"
  const char* symbol;         // "+"
  binaryfunc run;
  binaryfunc run_in_place;
};
const BinaryOperatorInfo& info(BinaryOperator op);

struct UnaryOperatorInfo {
  PyObject* function;
  PyObject* method;
  const char* symbol;
  unaryfunc run;
};
// By values::Unary.
const UnaryOperatorInfo& unary_info(size_t kind);

}  // namespace magneto::values
