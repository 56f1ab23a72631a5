// SPDX-License-Identifier: BSD-3-Clause
// CPython 3.11's private structures of a collections.deque
// (Modules/_collectionsmodule.c), and reads of it that run no code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::python {

constexpr Py_ssize_t kDequeBlockSize = 64;
struct DequeBlock {
  DequeBlock* left;
  PyObject* items[kDequeBlockSize];
  DequeBlock* right;
};
struct Deque {
  PyObject_VAR_HEAD DequeBlock* left;
  DequeBlock* right;
  Py_ssize_t left_index;
  Py_ssize_t right_index;
  size_t state;
  Py_ssize_t limit;  // -1: none
};

PyTypeObject* deque_type() noexcept;
// Of that class or one derived from it.
bool is_deque(PyObject* object) noexcept;
// maxlen; -1 if there is none.
Py_ssize_t deque_limit(PyObject* deque) noexcept;
// Borrowed; null behind the end.
PyObject* deque_item(PyObject* deque, Py_ssize_t i) noexcept;

}  // namespace magneto::python
