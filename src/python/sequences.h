// SPDX-License-Identifier: BSD-3-Clause
// Tuples and lists of given objects, which they share. Null with a Python error
// set if there is no memory.
#pragma once

#include <span>

#include "python/ref.h"

namespace magneto::python {

inline Ref tuple_of(std::span<PyObject* const> items) {
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; tuple && i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     Ref::share(items[i]).release());
  return tuple;
}

inline Ref list_of(std::span<PyObject* const> items) {
  Ref list = Ref::steal(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; list && i < items.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                    Ref::share(items[i]).release());
  return list;
}

}  // namespace magneto::python
