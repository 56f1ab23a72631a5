// SPDX-License-Identifier: BSD-3-Clause
// Which places hold the same object of the caller's. A trace is right for calls
// in which the same places do, as far as the program can tell: by `is`, by
// keys, and by writing to one object and reading another.
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

// To be called when the trace is complete. Guards that objects which were keys
// are different ones, and so are those of a type of which one was written to.
void guard_identities(Context& ctx);

}  // namespace magneto::values
