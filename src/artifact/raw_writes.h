// SPDX-License-Identifier: BSD-3-Clause
// Writes to an object's own storage, as the traced program made them: the
// user's
// __setattr__, properties and __setitem__ were traced already and must not run
// again. All return false with a Python error set. What they replace may die,
// so finalizers may run.
#pragma once

#include <span>

#include "python/ref.h"

namespace magneto::artifact {

// An instance of `type` as object.__new__ makes it (or the built-in type's own
// __new__ that the class inherits, given `args`); no Python __new__, no
// __init__.
Ref new_instance(PyTypeObject* type, PyObject* args);

// value null: the attribute is deleted if it is there. Slots of __slots__
// included.
bool write_attribute(PyObject* object, PyObject* name, PyObject* value);
// Deletes all that is in the instance's dictionary.
bool clear_attributes(PyObject* object);

// A dict's, OrderedDict's or such a subclass's own items; value null: the item
// is deleted if it is there.
bool write_item(PyObject* dict, PyObject* key, PyObject* value);
bool clear_dict(PyObject* dict);
bool move_to_end(PyObject* ordered_dict, PyObject* key);

// container[:] = items, for a list or a deque.
bool assign_items(PyObject* container, std::span<PyObject* const> items);
// Its iterators don't notice.
bool set_deque_item(PyObject* deque, PyObject* position, PyObject* item);
// So many items are dropped at the left end, and others appended.
bool shift_deque(PyObject* deque, PyObject* dropped,
                 std::span<PyObject* const> items);
// list[start:stop] = items.
bool splice_list(PyObject* list, PyObject* start, PyObject* stop,
                 std::span<PyObject* const> items);
bool add_items(PyObject* set, std::span<PyObject* const> items);
bool discard_items(PyObject* set, std::span<PyObject* const> items);

}  // namespace magneto::artifact
