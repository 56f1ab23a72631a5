// SPDX-License-Identifier: BSD-3-Clause
// Values that are compared by value, and keys that are looked up, without
// running user code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::guards {

// Whether objects of the type hash and compare by their identity, as object's.
bool has_identity_hash(PyTypeObject* type) noexcept;

// True for keys whose hash and equality are C code of the interpreter's: str,
// int, bool, float, complex, bytes, None, tuples and frozensets of such, types
// declared with add_value_type(), and objects that keep object's identity hash
// (types, functions, modules, plain instances). Exact types only.
bool is_plain_key(PyObject* key) noexcept;

// What constant_equals() accepts: None, Ellipsis, NotImplemented, bool, int,
// float, complex, str, bytes, range, slices, tuples and frozensets of such,
// types declared with add_value_type(), all exactly of these types.
bool is_constant(PyObject* value) noexcept;

// Exactly the same type and an equal value; floats by their bits, frozensets
// with their order. False for anything that is_constant() rejects, unless both
// are the same object.
bool same_constant(PyObject* a, PyObject* b) noexcept;

// True if the set or frozenset has exactly the items of `items`, a frozenset
// that is_constant() accepts: equal and of the same types.
bool same_items(PyObject* set, PyObject* items) noexcept;

// python::KeyEqual for two keys with one hash.
int plain_key_equal(PyObject* stored, PyObject* key) noexcept;

}  // namespace magneto::guards
