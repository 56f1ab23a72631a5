// SPDX-License-Identifier: BSD-3-Clause
// Objects of C classes that the trace made (iterators, partials, deques,
// views): how a heap object keeps the state of each, and the call that makes a
// real object of that state.
#pragma once

#include <optional>

#include "values/model/context.h"

namespace magneto::values {

// `callable(*positional)` gives an equal object; for a List or Dict, an empty
// one, to be filled afterwards.
struct Construction {
  V callable = nullptr;
  std::vector<V> positional;
};

// Nothing if the object's class isn't known here, or if there is no such call
// for the state that it is in. May make new values.
std::optional<Construction> construction(Context& ctx, V value);

// The State (magneto/polyfills/iterators.py) of an iterator that stands around
// one; null for all others.
V iterator_state(Context& ctx, V iterator);
// Whether the value is such a state.
bool is_iterator_state(V value);
// What its step() gives at the end.
PyObject* end_of_iterators();

// The slots of a generator: what it is called.
enum GeneratorSlot : size_t { kGeneratorName, kGeneratorQualifiedName };

// Whether the deque has got another length since the iterator was made. Its
// slots: the deque, the deque's number and its length then.
bool is_outdated(const Context& ctx, V deque_iterator);

// An iterator by __getitem__, of a class made in Python.
Construction sequence_iterator(Context& ctx, V iterator);

// The view that dict.keys, values or items (by name) gives.
V dict_view(Context& ctx, V dict, std::string_view method);

// reversed(sequence), with `left` items to go.
V reversed_iterator(Context& ctx, V sequence, size_t left);

}  // namespace magneto::values
