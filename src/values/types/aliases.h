// SPDX-License-Identifier: BSD-3-Clause
// Generic aliases and unions of classes: list[int], int | None. Those that the
// trace makes are constants without a source, and a program makes them anew: so
// each call has its own, and their classes may die.
#pragma once

#include "values/types/construction.h"

namespace magneto::values {

bool is_alias(PyObject* object);

// The value of an alias that an operation has given: one that it made, or one
// that others have, too.
Outcome<V> alias_value(Context& ctx, Ref alias);

// The call that makes an equal one of an alias that the trace made; none for
// anything else.
std::optional<Construction> alias_construction(Context& ctx, PyObject* object);

}  // namespace magneto::values
