// SPDX-License-Identifier: BSD-3-Clause
// What the rows of types (type_table.h) make their calls of.
#pragma once

#include <optional>

#include "values/model/construction.h"
#include "values/model/context.h"

namespace magneto::values {

// An attribute of a module of the standard library, or of magneto's.
V attribute_of_module(Context& ctx, const char* module, const char* name);

// The value's class.
V class_value(Context& ctx, V value);

// A method that the class itself has.
V method_of(Context& ctx, PyTypeObject* type, const char* name);

// The class and its slots in the heap, in their order: a row's `construct`.
std::optional<Construction> of_class(Context& ctx, V value);

// A function of magneto.construct.
Construction by_helper(Context& ctx, const char* helper,
                       std::vector<V> arguments);

// What `base`, written in C, makes of the arguments: an instance of the value's
// class, without a __new__ or __init__ of the program's.
Construction instance_of(Context& ctx, V value, PyTypeObject* base,
                         std::vector<V> arguments);

// An iterator that `iterate(iterable)` gives, after so many steps.
Construction advanced(Context& ctx, V iterate, V iterable, int64_t count);

// The class of that tp_name that the value's class is or is derived from.
PyTypeObject* base_named(V value, const char* name);

}  // namespace magneto::values
