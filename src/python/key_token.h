// SPDX-License-Identifier: BSD-3-Clause
// Objects that stand for keys which hash and compare in Python code of their
// own: each has the key's hash, and is equal to itself alone.
#pragma once

#include "python/ref.h"

namespace magneto::python {

Ref make_key_token(Py_hash_t hash);
// Whether it is one, or a tuple or frozenset with one in it.
bool holds_key_token(PyObject* object) noexcept;
// Whether this thread has compared a token with another object since this was
// last asked. Only the key's own code could tell whether those are equal.
bool take_open_comparison() noexcept;

}  // namespace magneto::python
