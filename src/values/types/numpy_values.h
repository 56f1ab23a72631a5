// SPDX-License-Identifier: BSD-3-Clause
// NumPy's numbers (np.float32(2), what np.sqrt(2) gives): immutable, so they
// are constants as Python's own are.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// bool, integer, floating and complex scalars, and their base classes. False
// while nobody has imported NumPy.
bool is_numpy_number(PyTypeObject* type);

// Whether NumPy takes an operator's operands, of which one is its number and
// the other an object that it doesn't know, for arrays: the other one's method
// is then given a Python number.
bool are_made_arrays(V left, V right);

// While one exists that is active, NumPy raises FloatingPointError where it
// would warn: a warning belongs to each call, not to the trace.
class NumpyErrors {
 public:
  explicit NumpyErrors(bool is_active);
  ~NumpyErrors();
  NumpyErrors(const NumpyErrors&) = delete;
  NumpyErrors& operator=(const NumpyErrors&) = delete;

 private:
  Ref before_;  // what np.seterr() takes; null: nothing to put back
};

// The Python error that is set: the program's, or a graph break where NumPy
// would warn.
Signal numpy_error(Context& ctx);

}  // namespace magneto::values
