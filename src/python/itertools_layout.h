// SPDX-License-Identifier: BSD-3-Clause
// What the iterators of `itertools` keep: words after the object's head, each
// an object or a number, in the order of their structures in C.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace magneto::python {

// Whether the object is one whose words are known.
bool has_iterator_words(PyObject* object) noexcept;
// The place of an object (null: there is none now); null for other words.
PyObject** iterator_object(PyObject* iterator, size_t word) noexcept;
// False if the word is none that holds a number.
bool iterator_number(PyObject* iterator, size_t word, int64_t* number) noexcept;
// Writes a word: an object (null: none), or an int for a number. Letting go of
// the object before may run user code.
void set_iterator_word(PyObject* iterator, size_t word,
                       PyObject* value) noexcept;

}  // namespace magneto::python
