// SPDX-License-Identifier: BSD-3-Clause
// Interned names, made once. They live as long as the process (interned
// strings that CPython's own code keeps as well), so they may be borrowed.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto {

struct Names {
#define MG_NAME(identifier, text) PyObject* identifier;
#include "python/names.def"
#undef MG_NAME
};

const Names& interned();

}  // namespace magneto
