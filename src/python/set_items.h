// SPDX-License-Identifier: BSD-3-Clause
// What a set or frozenset has, in its own order and not by an __iter__ that is
// written in Python.
#pragma once

#include "running_python/set_items.h"

namespace magneto::python {

// Walks the items while the set doesn't change.
class SetItems {
 public:
  explicit SetItems(PyObject* set) noexcept : set_(set) {}
  // The next item, borrowed; null after the last.
  PyObject* next() noexcept { return next_in_set(set_, &position_); }

 private:
  PyObject* set_;
  Py_ssize_t position_ = 0;
};

}  // namespace magneto::python
