// SPDX-License-Identifier: BSD-3-Clause
// Ints as CPython's own C code takes them.
#pragma once

#include "python/ref.h"

namespace magneto::python {

// As a C int; -1 with OverflowError set for a larger one.
int to_c_int(PyObject* number) noexcept;

// An int itself, for an instance of a class derived from int. Null with a
// Python error set.
Ref to_plain_int(PyObject* number) noexcept;

}  // namespace magneto::python
