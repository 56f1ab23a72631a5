// SPDX-License-Identifier: BSD-3-Clause
#include "entry/backend_conditions.h"

#include <string_view>
#include <unordered_map>
#include <vector>

#include "shapes/environment.h"

namespace magneto::entry {

namespace {

using shapes::E;
using shapes::Operation;

const Operation* operation_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Operation> operations = {
#define MG_OPERATION(Name, operands, function, in_torch, printed) \
  {#Name, Operation::Name},
#include "shapes/operations.def"
#undef MG_OPERATION
  };
  auto found = operations.find(name);
  return found == operations.end() ? nullptr : &found->second;
}

// Null with a Python error set.
E expression_of(shapes::Environment& environment, PyObject* tree) {
  shapes::Expressions& table = environment.expressions();
  if (PyBool_Check(tree)) return table.boolean(tree == Py_True);
  if (PyLong_CheckExact(tree)) {
    const int64_t value = PyLong_AsLongLong(tree);
    return value == -1 && PyErr_Occurred() ? nullptr : table.integer(value);
  }
  if (PyFloat_CheckExact(tree)) return table.real(PyFloat_AS_DOUBLE(tree));
  const char* name = nullptr;
  if (PyTuple_CheckExact(tree) && PyTuple_GET_SIZE(tree) > 1)
    name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tree, 0));
  const Operation* operation = name ? operation_of(name) : nullptr;
  if (!operation) {
    PyErr_SetString(PyExc_ValueError, "not the tree of a condition");
    return nullptr;
  }
  if (*operation == Operation::Symbol) {
    const size_t index = PyLong_AsSize_t(PyTuple_GET_ITEM(tree, 1));
    if (PyErr_Occurred()) return nullptr;
    MG_CHECK(index < environment.symbol_count(), "a symbol of the graph's");
    return environment.symbol(shapes::SymbolId(index)).expression;
  }
  std::vector<E> operands;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(tree); ++i) {
    E operand = expression_of(environment, PyTuple_GET_ITEM(tree, i));
    if (!operand) return nullptr;
    operands.push_back(operand);
  }
  E made = table.make(*operation, operands);
  if (!made)
    PyErr_SetString(PyExc_OverflowError,
                    "a condition has a number of more than 64 bits");
  return made;
}

}  // namespace

bool add_condition(values::Context& ctx, PyObject* tree) {
  shapes::Environment& environment = *ctx.symbols.environment();
  E condition = expression_of(environment, tree);
  if (!condition) return false;
  const std::optional<bool> holds = environment.decide(condition);
  MG_CHECK(holds.value_or(false),
           "what a backend relies on holds for the call that is compiled");
  return true;
}

}  // namespace magneto::entry
