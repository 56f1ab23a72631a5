// SPDX-License-Identifier: BSD-3-Clause
// The storage of CPython's own iterators: what they go over, how far they are,
// and what comes next, read without running user code and without moving them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace magneto::python {

// The class of the iterators of texts that consist of ASCII letters, which has
// no name in CPython's headers.
PyTypeObject* ascii_iterator() noexcept;

// The iterator of a list, tuple, str or bytes, forwards or backwards: what it
// goes over (borrowed; null at its end), how far it is, and how it goes on.
struct SequenceIterator {
  bool is_one = false;
  PyObject* sequence = nullptr;
  Py_ssize_t position = 0;
  Py_ssize_t step = 1;
};
SequenceIterator sequence_iterator(PyObject* object) noexcept;
// What such an iterator gives after `i` others, borrowed; null after the end.
// False if that would be a new object: letters beyond Latin-1.
bool sequence_entry(const SequenceIterator& iterator, size_t i,
                    PyObject** item) noexcept;

// The iterator of a range, or an enumerate, while a Py_ssize_t holds its
// number: which it gives next, what is added each time, and how many are left
// (of an enumerate: as many as there may be).
struct CountingIterator {
  bool is_one = false;
  int64_t next = 0;
  int64_t step = 1;
  int64_t left = INT64_MAX;
};
CountingIterator counting_iterator(PyObject* object) noexcept;

// The iterator of a dict, of its values or items, of a set or a deque, forwards
// or backwards: what it goes over (borrowed; null at its end), and whether that
// has changed since so that the iterator raises. `gives`: of a dict, what.
struct TableIterator {
  enum class Gives : uint8_t { Keys, Values, Pairs };
  bool is_one = false;
  PyObject* table = nullptr;
  bool is_changed = false;
  Gives gives = Gives::Keys;
};
TableIterator table_iterator(PyObject* object) noexcept;
// What such an iterator gives after `i` others; null after the end. What isn't
// a dict has keys only. Takes time with `i`.
struct TableEntry {
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  // Of a dict that got other keys meanwhile, or lost one that an OrderedDict
  // has: the iterator raises.
  bool is_extra = false;
};
TableEntry table_entry(PyObject* iterator, size_t i) noexcept;

// A function of a class (list_reverseiterator or reversed), a position and a
// sequence: the iterator that gives the item there next, without asking the
// sequence for anything; one at its end if there is no sequence.
PyObject* maker_of_reversed() noexcept;

// Moves one of the above (an enumerate apart) over so many items that it has;
// -1: to its end. That may free what it goes over, which runs user code.
void advance_iterator(PyObject* iterator, Py_ssize_t count) noexcept;
void set_enumerate_position(PyObject* enumerate, Py_ssize_t position) noexcept;
bool zip_is_strict(PyObject* zip) noexcept;

// The place of what an iterator was made of; null if the object has no such.
enum class IteratorField : uint8_t {
  IteratedOver,     // of an enumerate, and what goes over something that can
                    // change
  ZippedIterators,  // a tuple, as the next one
  MappedIterators,
  MappedFunction,
  FilterFunction,
  FilteredIterator,
};
PyObject** iterator_field(PyObject* object, IteratorField field) noexcept;

}  // namespace magneto::python
