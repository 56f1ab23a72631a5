// SPDX-License-Identifier: BSD-3-Clause
// From the arguments of a call to the parameters of a Python function, as
// CPython binds them (initialize_locals in Python/ceval.c).
#pragma once

#include <span>

#include "entry/resume/values.h"

namespace magneto::entry {

class BoundArguments {
 public:
  // `first`, if not null, comes before the others: a method's self. False if
  // the arguments don't fit, without an error set: who then calls the function
  // gets CPython's own error; or if memory is out.
  bool bind(PyFunctionObject* function, PyObject* first, PyObject* const* args,
            size_t nargs, PyObject* keyword_names);

  // In the order of co_varnames, star arguments included. Valid as long as this
  // and the caller's array.
  std::span<PyObject* const> values() const { return values_; }

 private:
  bool bind_positional(PyFunctionObject* function, PyObject* first,
                       PyObject* const* args, size_t nargs);
  bool bind_keywords(PyFunctionObject* function, PyObject* const* values,
                     PyObject* names);
  bool fill_defaults(PyFunctionObject* function);

  std::span<PyObject* const> values_;
  FrameValues owned_;  // unless the caller's array is used as it is
};

}  // namespace magneto::entry
