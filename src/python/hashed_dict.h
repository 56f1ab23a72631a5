// SPDX-License-Identifier: BSD-3-Clause
// Dicts by keys whose hashes are known already: the keys aren't asked again.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::python {

// Borrowed; null if there is no such key, with a Python error set if a
// comparison raises.
PyObject* item_with_hash(PyObject* dict, PyObject* key,
                         Py_hash_t hash) noexcept;
// False with a Python error set.
bool set_item_with_hash(PyObject* dict, PyObject* key, PyObject* value,
                        Py_hash_t hash) noexcept;
// PyDict_Next() that tells the hash too.
bool next_with_hash(PyObject* dict, Py_ssize_t* position, PyObject** key,
                    PyObject** value, Py_hash_t* hash) noexcept;

// The hash of an object that is told apart by its address.
Py_hash_t address_hash(const void* object) noexcept;

}  // namespace magneto::python
