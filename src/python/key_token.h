// SPDX-License-Identifier: BSD-3-Clause
// Objects that stand for keys which hash and compare in Python code of their
// own: each has the key's hash, and is equal to itself alone.
#pragma once

#include "python/ref.h"

namespace magneto::python {

Ref make_key_token(Py_hash_t hash);
// Whether it is one, or a tuple or frozenset with one in it.
bool holds_key_token(PyObject* object) noexcept;
// Whether one has been compared with anything else since the last question, by
// this thread: only the key's own code knows whether those are equal.
bool take_open_comparison() noexcept;

}  // namespace magneto::python
