// SPDX-License-Identifier: BSD-3-Clause
#include "entry/backend_guards.h"

#include <algorithm>
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

using Inputs = std::span<const guards::Request>;

// Each reads the tuple; false with a Python error set.
bool add_same(values::Context& ctx, PyObject* guard, Inputs inputs) {
  const char* tag = nullptr;
  Py_ssize_t one = 0, other = 0;
  if (!PyArg_ParseTuple(guard, "snn", &tag, &one, &other)) return false;
  MG_CHECK(static_cast<size_t>(std::max(one, other)) < inputs.size(),
           "a backend's guard relates two inputs of the graph");
  ctx.guards.same_object(inputs[static_cast<size_t>(one)].source,
                         inputs[static_cast<size_t>(other)].source);
  return true;
}

bool add_condition(values::Context& ctx, PyObject* guard, Inputs) {
  const char* tag = nullptr;
  PyObject* tree = nullptr;
  if (!PyArg_ParseTuple(guard, "sO", &tag, &tree)) return false;
  shapes::Environment& environment = *ctx.symbols.environment();
  E condition = expression_of(environment, tree);
  if (!condition) return false;
  const std::optional<bool> holds = environment.decide(condition);
  MG_CHECK(holds.value_or(false),
           "what a backend relies on holds for the call that is compiled");
  return true;
}

bool add_forward_mode(values::Context& ctx, PyObject*, Inputs) {
  ctx.guards.ambient(guards::Ambient::ForwardLevel);
  return true;
}

constexpr struct {
  std::string_view tag;
  bool (*add)(values::Context& ctx, PyObject* guard, Inputs inputs);
} kGuards[] = {
    {"same", add_same},
    {"condition", add_condition},
    {"forward mode", add_forward_mode},
};

}  // namespace

bool add_backend_guards(values::Context& ctx, PyObject* list, Inputs inputs) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* guard = PyList_GET_ITEM(list, i);
    const char* tag = PyTuple_Check(guard) && PyTuple_GET_SIZE(guard) > 0
                          ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(guard, 0))
                          : nullptr;
    const auto* const row =
        tag ? std::ranges::find(kGuards, std::string_view(tag),
                                [](const auto& each) { return each.tag; })
            : std::end(kGuards);
    MG_CHECK(row != std::end(kGuards), "a guard of a kind that backends have");
    if (!row->add(ctx, guard, inputs)) return false;
  }
  return true;
}

}  // namespace magneto::entry
