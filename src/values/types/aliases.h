// SPDX-License-Identifier: BSD-3-Clause
// Generic aliases and unions of classes: list[int], int | None. Those that the
// trace makes are constants without a source, and a program makes them anew: so
// each call has its own, and their classes may die.
#pragma once

#include "values/model/construction.h"
#include "values/model/context.h"

namespace magneto::values {

bool is_alias(PyObject* object);

// The value of an alias that an operation has given: a new one, or one that the
// program already had.
Outcome<V> alias_value(Context& ctx, Ref alias);

// A call of an alias: of its class. What it gives hears of the alias.
Outcome<V> call_alias(Context& ctx, V alias, const Arguments& args);

// The call that makes an alias equal to one that the trace made; none for any
// other object.
std::optional<Construction> alias_construction(Context& ctx, PyObject* object);

}  // namespace magneto::values
