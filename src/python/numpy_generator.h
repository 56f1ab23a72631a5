// SPDX-License-Identifier: BSD-3-Clause
// NumPy's random generators: a numpy.random.RandomState or Generator, with one
// of NumPy's own bit generators behind it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <span>
#include <vector>

#include "python/ref.h"

namespace magneto::python {

// One of exactly these classes whose state can be put back. False while nobody
// has imported NumPy. No Python error.
bool is_numpy_generator(PyObject* object);

// Another of the same classes; null with a Python error set. What follows takes
// no others either.
Ref numpy_generator_like(PyObject* generator);

// Whether it still has a bit generator of NumPy's, and no other thread draws
// from that just now. No Python error.
bool is_free(PyObject* generator);

// Its numpy.random.BitGenerator; null: it has none. No Python error.
Ref bit_generator(PyObject* generator);

// The memory that its next numbers depend on, as long as it has this bit
// generator.
std::vector<std::span<unsigned char>> numpy_generator_memory(
    PyObject* generator);

}  // namespace magneto::python
