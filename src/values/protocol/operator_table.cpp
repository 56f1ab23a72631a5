// SPDX-License-Identifier: BSD-3-Clause
#include "values/protocol/operator_table.h"

#include <array>
#include <string>

#include "support/forever.h"
#include "values/protocol/operands.h"

namespace magneto::values {

namespace {

PyObject* power(PyObject* a, PyObject* b) {
  return PyNumber_Power(a, b, Py_None);
}
PyObject* in_place_power(PyObject* a, PyObject* b) {
  return PyNumber_InPlacePower(a, b, Py_None);
}

struct BinaryRow {
  const char* name;
  const char* function;  // in the operator module, if that has another name
  const char* symbol;
  binaryfunc run;
  binaryfunc run_in_place;
};
// In the order of BinaryOperator.
constexpr BinaryRow kBinary[kBinaryOperators] = {
    {"add", nullptr, "+", PyNumber_Add, PyNumber_InPlaceAdd},
    {"and", "and_", "&", PyNumber_And, PyNumber_InPlaceAnd},
    {"floordiv", nullptr, "//", PyNumber_FloorDivide,
     PyNumber_InPlaceFloorDivide},
    {"lshift", nullptr, "<<", PyNumber_Lshift, PyNumber_InPlaceLshift},
    {"matmul", nullptr, "@", PyNumber_MatrixMultiply,
     PyNumber_InPlaceMatrixMultiply},
    {"mul", nullptr, "*", PyNumber_Multiply, PyNumber_InPlaceMultiply},
    {"mod", nullptr, "%", PyNumber_Remainder, PyNumber_InPlaceRemainder},
    {"or", "or_", "|", PyNumber_Or, PyNumber_InPlaceOr},
    {"pow", nullptr, "** or pow()", power, in_place_power},
    {"rshift", nullptr, ">>", PyNumber_Rshift, PyNumber_InPlaceRshift},
    {"sub", nullptr, "-", PyNumber_Subtract, PyNumber_InPlaceSubtract},
    {"truediv", nullptr, "/", PyNumber_TrueDivide, PyNumber_InPlaceTrueDivide},
    {"xor", nullptr, "^", PyNumber_Xor, PyNumber_InPlaceXor},
};

struct UnaryRow {
  const char* name;
  const char* symbol;
  unaryfunc run;
};
constexpr UnaryRow kUnary[] = {{"pos", "+", PyNumber_Positive},
                               {"neg", "-", PyNumber_Negative},
                               {"invert", "~", PyNumber_Invert}};

PyObject* method_name(const std::string& name) {
  return PyUnicode_InternFromString(("__" + name + "__").c_str());
}

}  // namespace

const BinaryOperatorInfo& info(BinaryOperator op) {
  using Table = std::array<BinaryOperatorInfo, kBinaryOperators>;
  static const Table* const table = forever([] {
    Table made;
    for (size_t i = 0; i < made.size(); ++i) {
      const BinaryRow& row = kBinary[i];
      const std::string name = row.name;
      made[i] = {operator_function(row.function ? row.function : row.name),
                 operator_function(("i" + name).c_str()),
                 method_name(name),
                 method_name("r" + name),
                 method_name("i" + name),
                 row.symbol,
                 row.run,
                 row.run_in_place};
    }
    return made;
  }());
  return (*table)[static_cast<size_t>(op)];
}

const UnaryOperatorInfo& unary_info(size_t kind) {
  using Table = std::array<UnaryOperatorInfo, std::size(kUnary)>;
  static const Table* const table = forever([] {
    Table made;
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = {operator_function(kUnary[i].name), method_name(kUnary[i].name),
                 kUnary[i].symbol, kUnary[i].run};
    return made;
  }());
  return (*table)[kind];
}

}  // namespace magneto::values
