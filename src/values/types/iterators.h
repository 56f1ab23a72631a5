// SPDX-License-Identifier: BSD-3-Clause
// Iterators of C classes that the trace made: how the heap keeps their state.
//
//   enumerate           iterator, next index
//   zip                 iterators ...; number: strict
//   map                 function, iterators ...
//   filter              function, iterator
//   reversed and list's sequence; number: items left
//   iterators of dicts  see dict_iterators.cpp
//   iterators of sets   see set_iterators.cpp
//   of itertools, and iter(function, sentinel)
//                       a State (magneto/polyfills/iterators.py)
#pragma once

#include "values/model/construction.h"
#include "values/model/context.h"

namespace magneto::values {

// The State of an iterator that stands around one; null for all others.
V iterator_state(Context& ctx, V iterator);
// Whether the value is such a state.
bool is_iterator_state(V value);
// What its step() gives at the end.
PyObject* end_of_iterators();

// An iterator by __getitem__, of a class made in Python.
Construction sequence_iterator(Context& ctx, V iterator);

// reversed(sequence), with `left` items to go.
V reversed_iterator(Context& ctx, V sequence, size_t left);

}  // namespace magneto::values
