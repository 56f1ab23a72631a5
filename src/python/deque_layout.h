// SPDX-License-Identifier: BSD-3-Clause
// Reads of a collections.deque that run no code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::python {

PyTypeObject* deque_type() noexcept;
// Of that class or one derived from it.
bool is_deque(PyObject* object) noexcept;
// maxlen; -1 if there is none.
Py_ssize_t deque_limit(PyObject* deque) noexcept;
// Borrowed; null after the end.
PyObject* deque_item(PyObject* deque, Py_ssize_t i) noexcept;

}  // namespace magneto::python
