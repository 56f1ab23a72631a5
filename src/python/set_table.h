// SPDX-License-Identifier: BSD-3-Clause
// The hash table of a set or frozenset. Sets with equal items may have them in
// another order, and may grow into one, by where the table has its gaps.
#pragma once

#include <cstdint>

#include "python/ref.h"

namespace magneto::python {

// A set with a table that is the same in all places, the place where pop()
// looks next included.
Ref copy_of_set(PyObject* set);

// Turns a new set, which nobody else holds, into a frozenset with the same
// table. A frozenset that is made of its items would have a table without the
// gaps that removed items leave.
void freeze(PyObject* set) noexcept;

// Adds an item without asking for its hash, which no other item has. False with
// an exception set.
bool add_with_hash(PyObject* set, PyObject* item, Py_hash_t hash);

// Where pop() looks next; it stays when the set is emptied.
Py_ssize_t set_finger(PyObject* set) noexcept;
void write_finger(PyObject* set, Py_ssize_t finger) noexcept;
// The latter as a function of Python's; borrowed.
PyObject* finger_writer() noexcept;

// A digest of the table's size, of which places are taken, free or were freed,
// and of where pop() looks next: what besides the items, in their order, tells
// what becomes of the set.
int64_t set_layout(PyObject* set) noexcept;

}  // namespace magneto::python
