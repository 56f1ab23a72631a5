// SPDX-License-Identifier: BSD-3-Clause
// Between expressions and torch's Python objects. Speaks pybind11, as torch's
// casters for symbolic numbers do.
#include "tensor/symbols.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_symnode.h>

#include "shapes/environment.h"
#include "tensor/symbol_node.h"
#include "tensor/unwrap.h"

namespace magneto::tensor {

namespace py = pybind11;
using shapes::E;
using shapes::Type;

namespace {

c10::SymNode node_of(const EnvironmentRef& environment, E expression) {
  return c10::make_intrusive<SymbolNode>(environment, expression);
}

Ref constant_object(const shapes::Expression& constant) {
  switch (constant.type) {
    case Type::Integer:
      return Ref::steal(PyLong_FromLongLong(constant.value.integer()));
    case Type::Float:
      return Ref::steal(PyFloat_FromDouble(constant.value.real()));
    case Type::Boolean:
      return Ref::steal(PyBool_FromLong(constant.value.truth()));
  }
  return {};
}

template <class Dims>
std::vector<E> expressions(const EnvironmentRef& environment, Dims dims) {
  std::vector<E> result;
  for (const c10::SymInt& dim : dims) {
    E e = to_expression(environment, dim);
    TORCH_CHECK(e, "a size belongs to another trace");
    result.push_back(e);
  }
  return result;
}

}  // namespace

Ref symbol_object(const EnvironmentRef& environment, E expression) {
  expression = environment->simplify(expression);
  if (expression->is_constant()) return constant_object(*expression);
  // Torch's own casts know nothing of SymFloats and SymBools over nodes that
  // aren't written in Python.
  py::object node = py::cast(node_of(environment, expression));
  py::handle type =
      expression->type == Type::Integer ? torch::get_symint_class()
      : expression->type == Type::Float ? torch::get_symfloat_class()
                                        : torch::get_symbool_class();
  return Ref::steal(py::object(type(node)).release().ptr());
}

bool is_symbol_object(PyObject* object) noexcept {
  auto is = [object](py::handle type) {
    return Py_IS_TYPE(object, reinterpret_cast<PyTypeObject*>(type.ptr()));
  };
  return is(torch::get_symint_class()) || is(torch::get_symfloat_class()) ||
         is(torch::get_symbool_class());
}

E expression_of(const EnvironmentRef& environment, PyObject* object) {
  shapes::Expressions& table = environment->expressions();
  if (PyBool_Check(object)) return table.boolean(object == Py_True);
  if (PyFloat_CheckExact(object)) return table.real(PyFloat_AS_DOUBLE(object));
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow ? nullptr : table.integer(value);
  }
  if (!is_symbol_object(object)) return nullptr;
  py::object node = py::handle(object).attr("node");
  auto held = py::cast<c10::SymNode>(node);
  auto* own = own_node(held.get());
  if (!own || own->environment() != environment) return nullptr;
  return own->expression();
}

namespace {

Ref tree_of(shapes::Environment& environment, E e) {
  if (e->is_constant()) return constant_object(*e);
  if (e->is_symbol()) {
    if (e->type == Type::Float && environment.symbol(e->symbol).is_backed) {
      const double hint = environment.symbol(e->symbol).hint.real();
      return Ref::steal(Py_BuildValue(
          "(sId)", "Symbol", static_cast<unsigned int>(e->symbol.index), hint));
    }
    const shapes::Range range = environment.range(e);
    const shapes::Symbol& symbol = environment.symbol(e->symbol);
    if (!symbol.is_backed) {
      const char* type = e->type == Type::Integer ? "int"
                         : e->type == Type::Float ? "float"
                                                  : "bool";
      return Ref::steal(Py_BuildValue(
          "(sIsLL)", "Unbacked", static_cast<unsigned int>(e->symbol.index),
          type, static_cast<long long>(range.least),
          static_cast<long long>(range.most)));
    }
    const int64_t hint = symbol.hint.integer();
    return Ref::steal(Py_BuildValue(
        "(sILLL)", "Symbol", static_cast<unsigned int>(e->symbol.index),
        static_cast<long long>(hint), static_cast<long long>(range.least),
        static_cast<long long>(range.most)));
  }
  Ref tree =
      Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(e->operands.size()) + 1));
  if (!tree) return {};
  PyTuple_SET_ITEM(
      tree.get(), 0,
      PyUnicode_InternFromString(shapes::row_of(e->operation).name));
  for (size_t i = 0; i < e->operands.size(); ++i) {
    Ref operand = tree_of(environment, e->operands[i]);
    if (!operand) return {};
    PyTuple_SET_ITEM(tree.get(), static_cast<Py_ssize_t>(i) + 1,
                     operand.release());
  }
  return tree;
}

// Kept alive by the object. Raises for anything else than a number of ours.
const SymbolNode& node_of(PyObject* number) {
  TORCH_CHECK(is_symbol_object(number), "expected a symbolic number");
  auto held = py::cast<c10::SymNode>(py::handle(number).attr("node"));
  auto* own = own_node(held.get());
  TORCH_CHECK(own, "expected a symbolic number of a graph of magneto's");
  return *own;
}

}  // namespace

Ref number_tree(PyObject* number) {
  const SymbolNode& own = node_of(number);
  return tree_of(*own.environment(), own.expression());
}

Ref number_hint(PyObject* number) {
  const SymbolNode& own = node_of(number);
  shapes::Expressions& table = own.environment()->expressions();
  const E now = own.expression();
  const auto value = own.environment()->hint(now);
  if (!value) return Ref::share(Py_None);
  return constant_object(*table.constant(now->type, *value));
}

Ref number_functions() {
  Ref functions = Ref::steal(PyDict_New());
  for (const shapes::OperationRow& row : shapes::operation_rows()) {
    if (row.operands == 0) continue;
    Ref function = Ref::steal(Py_BuildValue(
        "(sO)", row.function,
        row.in_torch == shapes::InTorch::Symbolic ? Py_True : Py_False));
    if (!functions || !function ||
        PyDict_SetItemString(functions, row.name, function) < 0)
      return {};
  }
  return functions;
}

std::vector<E> size_expressions(const EnvironmentRef& environment,
                                PyObject* tensor) {
  return expressions(environment, impl_of(tensor)->sym_sizes());
}

std::vector<E> stride_expressions(const EnvironmentRef& environment,
                                  PyObject* tensor) {
  return expressions(environment, impl_of(tensor)->sym_strides());
}

E numel_expression(const EnvironmentRef& environment, PyObject* tensor) {
  return to_expression(environment, impl_of(tensor)->sym_numel());
}

E storage_offset_expression(const EnvironmentRef& environment,
                            PyObject* tensor) {
  return to_expression(environment, impl_of(tensor)->sym_storage_offset());
}

}  // namespace magneto::tensor
