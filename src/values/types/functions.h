// SPDX-License-Identifier: BSD-3-Clause
// The fields of functions, those that can be written to.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// In the order of the function's heap slots. A slot that the program hasn't
// written to is null: what the function was made with holds.
enum class FunctionField : uint8_t {
  Name,
  QualifiedName,
  Doc,
  Module,
  Annotations,
  Defaults,
  KeywordDefaults,
};
inline constexpr size_t kFunctionFields = 7;

// The attribute's name.
PyObject* function_field_name(FunctionField field);
// Which field an attribute is; kFunctionFields if it is none.
size_t function_field(PyObject* name);

// What was written to the field; null if nothing was.
V written_field(Context& ctx, V function, FunctionField field);
Outcome<V> get_function_field(Context& ctx, V function, FunctionField field);
// __name__ or __qualname__ of a Constant that is a function or a class, or
// another of a function's fields, under a guard, since they can be written;
// null for anything else.
V field_of_constant(Context& ctx, V constant, PyObject* name);
// A TypeError about the arguments of a callable: "module.f() " and `what`.
Signal wrong_arguments(Context& ctx, V callable, const std::string& what);
// value null: deletion.
Status set_function_field(Context& ctx, V function, FunctionField field,
                          V value);

}  // namespace magneto::values
