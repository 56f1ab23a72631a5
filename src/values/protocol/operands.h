// SPDX-License-Identifier: BSD-3-Clause
// What operators, comparison, truth and containment ask of their operands.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// A constant on which C code may be run as it is.
bool is_safe_constant(V value);

// A method that Python code or the natives' tables define for the value's
// class, bound; null if there is none.
Outcome<V> python_method(Context& ctx, V value, PyObject* name);

// Whether the type's objects show C code their memory, as bytes do.
bool shows_memory(PyTypeObject* type);

bool is_other_sort(V operand);
// Whether C code of the object's class answers this, of which nothing is known.
bool is_implemented_in_c(Context& ctx, V value, PyObject* name);
// Whether the operand's class has a __getattr__ or __getattribute__ of its own:
// a tensor asks the other operand for its __torch_function__, several times.
bool overrides_attribute_lookup(Context& ctx, V operand);

// Whether a method declined.
bool is_not_implemented(Context& ctx, V value);

// What the method `name` of `value` says to `other`; null if it has no answer.
// `method` is the bound one if Python code or the natives' tables define it;
// without, C code is asked if `value` is a number, a text or an instance of a
// class that `other` inherits from.
Outcome<V> answer_to(Context& ctx, V method, V value, V other, PyObject* name,
                     const char* symbol);

// A binary operation's methods: `forward` of the left operand, called `name`,
// and `backward` of the right one, called `reflected`; bound, or null if
// neither Python code nor the natives' tables define them.
struct OperatorMethods {
  V forward = nullptr;
  V backward = nullptr;
  PyObject* name = nullptr;
  PyObject* reflected = nullptr;
};

// The right operand's goes first if its class is derived from the left one's,
// and has another reflected method.
bool is_backward_first(Context& ctx, V left, V right,
                       const OperatorMethods& methods);

// What they say, in CPython's order; null if neither has an answer.
Outcome<V> answer_of_either(Context& ctx, V left, V right,
                            const OperatorMethods& methods, const char* symbol);

// The function of the operator module by that name, borrowed.
PyObject* operator_function(const char* name);

// A method that is written in Python.
bool is_users_method(V method);

bool is_tuple_like(V value);
// A deque is a Kind::List as well, but has operators of its own.
bool is_list(V value);
bool is_deque(V value);
// The items that a list or tuple holds, whatever its class says of iteration.
std::vector<V> items_of(Context& ctx, V sequence);

Signal unknown_operator(Context& ctx, const char* symbol, V left, V right);
Signal unknown_operator(Context& ctx, const char* symbol, V operand);

}  // namespace magneto::values
