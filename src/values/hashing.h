// SPDX-License-Identifier: BSD-3-Clause
// Keys of dicts and sets while tracing.
#pragma once

#include "values/context.h"

namespace magneto::values {

// A real object that hashes and compares as `key` does in Python, without user
// code: the constant itself, a tuple of tokens, or an object that stands for
// the key's identity. Raises TypeError for unhashable keys; breaks the graph if
// the key's class overrides __hash__ or __eq__.
Outcome<PyObject*> key_token(Context& ctx, V key);

// The __hash__ that Python code defines for the value's class, bound; null if
// there is none.
Outcome<V> own_hash(Context& ctx, V value);

// True if objects of exactly this type hash and compare without user code.
bool is_plain_key_type(PyTypeObject* type);
// True for classes derived from those that hash and compare as they do.
bool inherits_plain_key(PyTypeObject* type);

}  // namespace magneto::values
