// SPDX-License-Identifier: BSD-3-Clause
#include "python/hashed_dict.h"

#include "python/v311/only.h"

namespace magneto::python {

PyObject* item_with_hash(PyObject* dict, PyObject* key,
                         Py_hash_t hash) noexcept {
  return _PyDict_GetItem_KnownHash(dict, key, hash);
}

bool set_item_with_hash(PyObject* dict, PyObject* key, PyObject* value,
                        Py_hash_t hash) noexcept {
  return _PyDict_SetItem_KnownHash(dict, key, value, hash) == 0;
}

bool next_with_hash(PyObject* dict, Py_ssize_t* position, PyObject** key,
                    PyObject** value, Py_hash_t* hash) noexcept {
  return _PyDict_Next(dict, position, key, value, hash) != 0;
}

Py_hash_t address_hash(const void* object) noexcept {
  return _Py_HashPointer(object);
}

}  // namespace magneto::python
