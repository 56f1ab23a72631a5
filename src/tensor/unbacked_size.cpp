// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/unbacked_size.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <limits>

#include "tensor/errors.h"
#include "tensor/operator_effects.h"
#include "tensor/symbol_node.h"
#include "tensor/unwrap.h"

namespace magneto::tensor {
namespace {

thread_local DataEnvironment* data_environment = nullptr;

EnvironmentRef environment_for(const char* what) {
  const EnvironmentRef environment =
      data_environment ? data_environment->data_environment() : nullptr;
  if (!environment)
    throw_needs_data(std::string(what) + " depends on a tensor's data");
  operator_effects().note_data_number();
  return environment;
}

template <class T>
constexpr shapes::Range range_of_type() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

std::optional<NumberType> number_type(c10::ScalarType type) {
  using shapes::Type;
  switch (type) {
    case at::kBool:
      return NumberType{Type::Boolean, {}};
    case at::kByte:
      return NumberType{Type::Integer, range_of_type<uint8_t>()};
    case at::kChar:
      return NumberType{Type::Integer, range_of_type<int8_t>()};
    case at::kShort:
      return NumberType{Type::Integer, range_of_type<int16_t>()};
    case at::kUInt16:
      return NumberType{Type::Integer, range_of_type<uint16_t>()};
    case at::kInt:
      return NumberType{Type::Integer, range_of_type<int32_t>()};
    case at::kUInt32:
      return NumberType{Type::Integer, range_of_type<uint32_t>()};
    case at::kLong:
      return NumberType{Type::Integer, {}};
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
      return NumberType{Type::Float, {}};
    default:
      return {};
  }
}

}  // namespace

std::optional<NumberType> number_type(PyObject* tensor) {
  return number_type(impl_of(tensor)->dtype().toScalarType());
}

c10::Scalar data_number(const at::Tensor& tensor) {
  const EnvironmentRef environment = environment_for("a number");
  const auto type = number_type(tensor.scalar_type());
  if (!type) throw_needs_data("a complex number depends on a tensor's data");
  (void)must_hold(tensor.sym_numel().sym_eq(1));
  {
    const pybind11::gil_scoped_acquire gil;
    Ref fake = Ref::steal(THPVariable_Wrap(tensor));
    const Ref known = data_environment->known_number(fake);
    if (known && PyBool_Check(known.get())) return known.get() == Py_True;
    if (known && PyLong_Check(known.get()))
      return static_cast<int64_t>(PyLong_AsLongLong(known));
    if (known) return PyFloat_AS_DOUBLE(known.get());
  }
  const shapes::E number = environment->unbacked(type->type, type->range);
  c10::SymNode node = c10::make_intrusive<SymbolNode>(environment, number);
  switch (type->type) {
    case shapes::Type::Integer:
      return c10::Scalar(c10::SymInt(node));
    case shapes::Type::Float:
      return c10::Scalar(c10::SymFloat(node));
    case shapes::Type::Boolean:
      return c10::Scalar(c10::SymBool(node));
  }
  return {};
}

void set_data_environment(DataEnvironment* environment) noexcept {
  data_environment = environment;
}

Dim unbacked_size(const Dim& least) {
  const EnvironmentRef environment = environment_for("a size of the result");
  shapes::Expressions& table = environment->expressions();
  const shapes::E size =
      environment->unbacked(shapes::Type::Integer, {.least = 0});
  environment->assume(
      table.less_equal(to_expression(environment, least), size));
  return to_symint(environment, size);
}

Dim unbacked_size(const Dim& least, const Dim& most) {
  Dim size = unbacked_size(least);
  (void)must_hold(size.sym_le(most));
  return size;
}

bool must_hold(const c10::SymBool& condition) {
  if (const auto plain = condition.maybe_as_bool()) return *plain;
  auto* node = own_node(condition.toSymNodeImplUnowned());
  return node ? node->must_hold() : condition.guard_bool(__FILE__, __LINE__);
}

bool depends_on_data(DimList sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const Dim& size) {
    if (!size.is_symbolic()) return false;
    auto* node = own_node(size.toSymNodeImplUnowned());
    return node && node->environment()->has_unbacked(node->expression());
  });
}

bool must_be(DimList shape, DimList other) {
  return std::equal(
      shape.begin(), shape.end(), other.begin(), other.end(),
      [](const Dim& a, const Dim& b) { return must_hold(a.sym_eq(b)); });
}

std::optional<bool> decided(const c10::SymBool& condition) {
  const bool answer = condition.guard_or_true(__FILE__, __LINE__);
  if (answer && !condition.guard_or_false(__FILE__, __LINE__)) return {};
  return answer;
}

bool assert_in_graph(shapes::E condition) {
  if (!data_environment) return false;
  // Torch's functions give it up while they compute.
  const pybind11::gil_scoped_acquire gil;
  return data_environment->assert_in_graph(condition);
}

std::optional<bool> presumed(const SymbolNode& condition) {
  const std::optional<bool> answer = condition.usually();
  if (!answer) return {};
  shapes::E holds = condition.expression();
  if (!*answer)
    holds = condition.environment()->expressions().logical_not(holds);
  return assert_in_graph(holds) ? answer : std::nullopt;
}

bool is_given(const Dim& size) {
  const c10::SymBool condition = size.sym_ge(0);
  if (const auto answer = decided(condition)) return *answer;
  auto* node = own_node(condition.toSymNodeImplUnowned());
  return (node && assert_in_graph(node->expression())) ||
         condition.guard_bool(__FILE__, __LINE__);
}

}  // namespace magneto::tensor
