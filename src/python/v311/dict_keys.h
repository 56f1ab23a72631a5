// SPDX-License-Identifier: BSD-3-Clause
// Look-ups in the keys of a dict, or in those that the instances of a class
// share, without running user code.
#pragma once

#include "python/v311/only.h"

// The structure is in an internal header.
#define Py_BUILD_CORE 1
#include <internal/pycore_dict.h>
#undef Py_BUILD_CORE

#include <cstring>

namespace magneto::python {

// Objects/dictobject.c, dictkeys_get_index: the width of an index depends on
// the size of the table.
inline Py_ssize_t index_at(const PyDictKeysObject* keys, size_t i) {
  const char* indices = keys->dk_indices;
  const int log2_size = DK_LOG_SIZE(keys);
  if (log2_size < 8) return reinterpret_cast<const int8_t*>(indices)[i];
  if (log2_size < 16) return reinterpret_cast<const int16_t*>(indices)[i];
  if (log2_size < 32) return reinterpret_cast<const int32_t*>(indices)[i];
  return static_cast<Py_ssize_t>(reinterpret_cast<const int64_t*>(indices)[i]);
}

constexpr Py_ssize_t kNotFound = DKIX_EMPTY;
constexpr Py_ssize_t kNotKnown = DKIX_ERROR;

inline bool same_string(PyObject* a, PyObject* b) {
  return PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) &&
         PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
         std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                     PyUnicode_GET_LENGTH(a) * PyUnicode_KIND(a)) == 0;
}

// The probe sequence of Objects/dictobject.c. `match(ix)` says 1, 0 or -1.
template <class Match>
Py_ssize_t probe(const PyDictKeysObject* keys, Py_hash_t hash, Match match) {
  const size_t mask = static_cast<size_t>(DK_SIZE(keys)) - 1;
  size_t perturb = static_cast<size_t>(hash);
  size_t i = static_cast<size_t>(hash) & mask;
  while (true) {
    const Py_ssize_t ix = index_at(keys, i);
    if (ix == DKIX_EMPTY) return kNotFound;
    if (ix >= 0) {
      const int matched = match(ix);
      if (matched != 0) return matched > 0 ? ix : kNotKnown;
    }
    perturb >>= 5;
    i = (i * 5 + perturb + 1) & mask;
  }
}

// The index of a str among keys that are all exact strings.
inline Py_ssize_t find_string(PyDictKeysObject* keys, PyObject* name,
                              Py_hash_t hash) {
  const PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  return probe(keys, hash, [=](Py_ssize_t ix) -> int {
    PyObject* stored = entries[ix].me_key;
    return stored == name ||
           (reinterpret_cast<PyASCIIObject*>(stored)->hash == hash &&
            same_string(stored, name));
  });
}

}  // namespace magneto::python
