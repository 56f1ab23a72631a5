// SPDX-License-Identifier: BSD-3-Clause
// threading.local: the attributes that an object has in the thread that asks.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::python {

// Whether attributes of the class are those of a threading.local, which it is
// or is derived from.
bool is_thread_local(PyTypeObject* type) noexcept;

// Where the object has its attributes in this thread, borrowed: made where
// there is none. Null for other objects, and for those of a class with an
// __init__ of the program's, which runs once in each thread.
PyObject* thread_local_dict(PyObject* object) noexcept;

}  // namespace magneto::python
