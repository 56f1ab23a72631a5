// SPDX-License-Identifier: BSD-3-Clause
// Symbolic numbers, seen from the rooms that know nothing of ATen:
// torch.SymInt, SymFloat and SymBool objects over expressions of a shape
// environment.
#pragma once

#include <optional>
#include <vector>

#include "python/ref.h"
#include "shapes/decision.h"
#include "shapes/range.h"

namespace magneto::tensor {

using shapes::EnvironmentRef;

// The torch object that stands for an expression; a plain int, float or bool
// where it is known to be a constant.
Ref symbol_object(const EnvironmentRef& environment, shapes::E expression);

// True for torch.SymInt, SymFloat and SymBool.
bool is_symbol_object(PyObject* object) noexcept;

// The expression behind such an object, or of an int, float or bool. Null for
// anything else, for numbers of other environments and ints of over 64 bits.
shapes::E expression_of(const EnvironmentRef& environment, PyObject* object);

// A symbolic number of whichever environment, as a tree for Python:
// ("Symbol", index, hint, least, most), of a float ("Symbol", index, hint),
// ("Unbacked", index, "int" or "float" or "bool", least, most), a plain number,
// or (operation's name, operand, ...). Raises for anything else.
Ref number_tree(PyObject* number);

// Its value in the call that is traced; None if only the graph's run tells.
Ref number_hint(PyObject* number);

// By name of an operation in such a tree: ("module.name" of what computes it,
// whether PyTorch's symbolic numbers have it).
Ref number_functions();

// Where operators whose result depends on data find symbols for what only the
// graph's run tells: the environment of the trace that is under way on this
// thread. Null (the start): such operators need the data, and say so.
class DataEnvironment {
 public:
  virtual EnvironmentRef data_environment() = 0;
  // The number in a fake tensor of one element, if it is known all the same.
  virtual Ref known_number(PyObject* fake) = 0;
  // The graph asserts the condition before the call that is being made. False:
  // it can't, since a number in it comes out of that call.
  virtual bool assert_in_graph(shapes::E condition) = 0;

 protected:
  ~DataEnvironment() = default;
};
void set_data_environment(DataEnvironment* environment) noexcept;

// What item() of a tensor is: an int of that range, a float or a bool. None for
// what is no symbol (complex numbers).
struct NumberType {
  shapes::Type type;
  shapes::Range range;
};
std::optional<NumberType> number_type(PyObject* tensor);

// What a tensor's metadata is made of, symbolic or not, simplified.
std::vector<shapes::E> size_expressions(const EnvironmentRef& environment,
                                        PyObject* tensor);
std::vector<shapes::E> stride_expressions(const EnvironmentRef& environment,
                                          PyObject* tensor);
shapes::E numel_expression(const EnvironmentRef& environment, PyObject* tensor);
shapes::E storage_offset_expression(const EnvironmentRef& environment,
                                    PyObject* tensor);

// Sizes and strides of an input's fake.
struct SymbolicShape {
  std::vector<shapes::E> sizes;
  std::vector<shapes::E> strides;
};

}  // namespace magneto::tensor
