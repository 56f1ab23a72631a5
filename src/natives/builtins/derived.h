// SPDX-License-Identifier: BSD-3-Clause
// Classes that a program derives from those of texts and numbers, and what C
// code asks of their instances.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// Whether C code gets from an instance of that class what it gets from a plain
// text or number: the class says nothing of its own under a name that the plain
// one has, nor in a special method. Guards that it stays so.
bool is_as_plain(Context& ctx, PyTypeObject* type);

// Whether an object is a text or bytes of a class derived from those, whatever
// else the class says: their characters are the object's own.
inline bool has_characters(PyObject* object) {
  return PyUnicode_Check(object) || PyBytes_Check(object);
}

// A text or bytes as a plain one, of the same characters; anything else as it
// is.
V plain_text(Context& ctx, V value);

}  // namespace magneto::natives
