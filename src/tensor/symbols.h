// SPDX-License-Identifier: BSD-3-Clause
// Symbolic numbers, seen from the rooms that know nothing of ATen:
// torch.SymInt, SymFloat and SymBool objects over expressions of a shape
// environment.
#pragma once

#include <vector>

#include "python/ref.h"
#include "shapes/decision.h"

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
// ("Symbol", index, hint, least, most), a plain number, or (operation's name,
// operand, ...). Raises for anything else.
Ref number_tree(PyObject* number);

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
