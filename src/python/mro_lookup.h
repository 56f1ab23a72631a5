// SPDX-License-Identifier: BSD-3-Clause
// The look-up in a class that all others are built on.
#pragma once

#include "running_python/mro_lookup.h"

namespace magneto::python {

// What the class, or the first of its bases in their order, has under `name` in
// its own dictionary: nothing is bound, and no code runs. Borrowed; null,
// without an error set, if none has it. May give the class a version.
inline PyObject* mro_lookup(PyTypeObject* type, PyObject* name) noexcept {
  return cached_mro_lookup(type, name);
}

}  // namespace magneto::python
