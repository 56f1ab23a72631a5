// SPDX-License-Identifier: BSD-3-Clause
// Exception groups: how they are made, split and put together again, as
// CPython's Objects/exceptions.c does it.
#pragma once

#include <span>

#include "values/model/context.h"

namespace magneto::values {

bool is_group_type(PyTypeObject* type);

// BaseExceptionGroup.__new__(type, *args)
Outcome<V> new_group(Context& ctx, PyTypeObject* type, std::span<const V> args);

// BaseExceptionGroup.derive(group, exceptions)
Outcome<V> derive_group(Context& ctx, V group, V exceptions);

// Of an exception or a group: None where there is nothing.
struct GroupParts {
  V match;
  V rest;
};

// group.split(matcher); without the rest, group.subgroup(matcher).
Outcome<GroupParts> split_group(Context& ctx, V group, V matcher,
                                bool with_rest);

// What `except* type` takes of an exception, or of what others have left of
// it. `types`: the classes in `type`.
Outcome<GroupParts> match_star(Context& ctx, V exception, V type,
                               std::span<PyTypeObject* const> types);

// What is raised when the `except*` clauses for `original` have left
// `exceptions`: some raised, others not handled or raised again. May be None.
Outcome<V> exception_of_star(Context& ctx, V original,
                             std::span<const V> exceptions);

}  // namespace magneto::values
