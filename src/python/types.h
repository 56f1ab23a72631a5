// SPDX-License-Identifier: BSD-3-Clause
// What CPython tells its own C code of types.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::python {

// The name without the module, as error messages have it.
const char* short_name(PyTypeObject* type) noexcept;

// Whether `case Type(x)` binds the object itself.
bool matches_itself(PyTypeObject* type) noexcept;

// Whether instances can be asked for a next item. A class whose __next__ was
// set to None can't.
bool has_next(PyTypeObject* type) noexcept;

// weakref.proxy() gives instances of these.
bool is_weak_proxy(PyTypeObject* type) noexcept;

// Of `[].__len__`.
PyTypeObject* method_wrapper_type() noexcept;

}  // namespace magneto::python
