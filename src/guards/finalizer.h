// SPDX-License-Identifier: BSD-3-Clause
// What runs when an object dies: its class's __del__, callbacks of weak
// references to it, the end of a torch.inference_mode, or the same of what it
// holds.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::guards {

// What surely has none, whatever it holds: plain data, tensors, and what lives
// as long as the program's code does (modules, classes, functions that hold
// nothing of their own).
bool never_has_finalizer(PyObject* object) noexcept;

// Looks at the nearest few hundred objects. Runs no user code.
bool has_finalizer(PyObject* object) noexcept;

// Whether one of the deque's items has one.
bool deque_has_finalizer(PyObject* deque) noexcept;

}  // namespace magneto::guards
