// SPDX-License-Identifier: BSD-3-Clause
// Keys of dicts and sets while tracing.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// A real object that hashes and compares as `key` does in Python, without user
// code: the constant itself, a tuple of tokens, an object that stands for the
// key's identity, or one that stands for all keys which the __hash__ and __eq__
// of their classes take for equal. Those must do nothing else, since they are
// asked for all keys of the trace. Raises TypeError for unhashable keys.
Outcome<PyObject*> key_token(Context& ctx, V key);

// Breaks the graph if a key with an __eq__ of its own was compared with one of
// another kind just now.
void expect_closed_comparisons();

// The __hash__ that Python code defines for the value's class, bound; null if
// there is none.
Outcome<V> own_hash(Context& ctx, V value);
// hash(value) by that method; null as above.
Outcome<V> hash_by_own_method(Context& ctx, V value);

// For code that has looked at a class's slots: guards how it hashes and
// compares, which may change for a class of the program's.
void rely_on_hash(Context& ctx, PyTypeObject* type);
// Raises TypeError for a class whose objects have no hash.
Status check_hashable(Context& ctx, PyTypeObject* type);

// Whether a real dict has keys that hash or compare in Python code.
bool has_own_keys(PyObject* dict);

// True if objects of exactly this type hash and compare without user code.
bool is_plain_key_type(PyTypeObject* type);
// True for classes derived from those that hash and compare as they do.
bool inherits_plain_key(PyTypeObject* type);

}  // namespace magneto::values
