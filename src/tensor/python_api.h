// SPDX-License-Identifier: BSD-3-Clause
// The functions of this room that Python sees, for tests and diagnosis.
#pragma once

#include "python/ref.h"

namespace magneto::tensor {

// Adds them to the module `magneto._C._tensor`; false with an error set.
bool add_python_functions(PyObject* module);

}  // namespace magneto::tensor
