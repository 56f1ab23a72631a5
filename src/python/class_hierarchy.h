// SPDX-License-Identifier: BSD-3-Clause
// Which class derives from which may change while a program runs: by writing to
// a class's __bases__. CPython tells nobody, and much depends on it
// (isinstance, except clauses, super(), operators), so the setter is listened
// to. Most writes are to classes that nobody knows yet: each definition of a
// typing.NamedTuple makes one.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace magneto::python {

// Once, before anything is compiled.
void listen_to_bases() noexcept;

// What `type` derives from may have been looked at, in some trace.
void know_class(PyTypeObject* type);

// A number that changes with each write to the __bases__ of a class that is
// known, or from which a known one derives.
uint64_t class_hierarchy() noexcept;

// The i-th of cls.__subclasses__(); borrowed, null after the last.
PyObject* subclass_at(PyTypeObject* type, size_t i) noexcept;

}  // namespace magneto::python
