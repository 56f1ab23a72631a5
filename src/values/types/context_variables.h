// SPDX-License-Identifier: BSD-3-Clause
// contextvars.ContextVar: what one has in the thread's context, as the trace
// sees it. The compiled piece sets it at its end to what the trace left there.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// The variable's value; Kind::Null if it has none of its own. `variable`: one
// of the caller's.
V value_now(Context& ctx, V variable);
// What it was when the piece began.
V value_before(Context& ctx, V variable);

// ContextVar.set(): gives a token, an object with the slots below.
V set_variable(Context& ctx, V variable, V value);
// ContextVar.reset() with a token that the trace has made of this variable, and
// that wasn't used.
void reset_variable(Context& ctx, V variable, V token);
enum TokenSlot : size_t { kVariable, kOldValue, kNewValue, kIsUsed, kEarlier };

// The token that set() gives where the piece does no more than one set() to the
// value that the variable has now; null if the trace has no such token.
V token_of_now(Context& ctx, V variable);

}  // namespace magneto::values
