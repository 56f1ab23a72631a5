// SPDX-License-Identifier: BSD-3-Clause
// Whether anybody else holds an object: one that nobody else has may be given
// away, or changed as if it were new. A version of CPython answers, since from
// 3.14 on a count of one doesn't say it: the stacks of frames borrow references
// to what their variables hold.
#pragma once

#include "running_python/ownership.h"

namespace magneto::python {

// Whether there is one reference to the object: the one that it was found by.
inline bool is_held_only_here(PyObject* object) noexcept {
  return reference_count_is(object, 1);
}

}  // namespace magneto::python
