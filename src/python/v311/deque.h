// SPDX-License-Identifier: BSD-3-Clause
// The private structures of a collections.deque
// (Modules/_collectionsmodule.c).
#pragma once

#include "python/v311/only.h"

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

}  // namespace magneto::python
