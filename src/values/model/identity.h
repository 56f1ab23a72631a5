// SPDX-License-Identifier: BSD-3-Clause
// Which of the caller's objects are one. A trace holds for calls whose objects
// are the same and different ones as in the call that was traced, as far as the
// program can tell: by `is`, by keys, and by writing to one and reading
// another.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// The object by which a dict or set of the caller's may hold `key`, whose token
// is `token`; null for what was made while tracing, which can't be in there.
// The key's identity is guarded. Throws BreakException where that would keep
// the caller's objects alive.
PyObject* callers_key(Context& ctx, V key, PyObject* token);

// Where an object of the caller's is in memory, as id() says: a number that
// varies with the object, of which nothing else need be known. Null for what
// the trace made.
V address_of(Context& ctx, V value);

// To be called when the trace is complete. No two objects that were keys are
// one; and objects of a type of which any was written to aren't, either.
void guard_identities(Context& ctx);

}  // namespace magneto::values
