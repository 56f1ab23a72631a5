// SPDX-License-Identifier: BSD-3-Clause
#include "python/int_conversions.h"

#include "python/v311/only.h"

namespace magneto::python {

int to_c_int(PyObject* number) noexcept { return _PyLong_AsInt(number); }

Ref to_plain_int(PyObject* number) noexcept {
  return Ref::steal(_PyLong_Copy(reinterpret_cast<PyLongObject*>(number)));
}

}  // namespace magneto::python
