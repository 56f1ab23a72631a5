// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/digits_limit.h"

#include "python/find.h"

namespace magneto::values {

namespace {

// No limit is lower (sys.int_info.str_digits_check_threshold).
constexpr Py_ssize_t kDecimals = 640;
// Of CPython's own digits, which have 30 bits, as many as 640 decimals take.
constexpr Py_ssize_t kDigits = 70;

bool may_be_over_limit(PyObject* object) {
  if (PyLong_Check(object)) return std::abs(Py_SIZE(object)) >= kDigits;
  if (PyUnicode_Check(object)) return PyUnicode_GET_LENGTH(object) > kDecimals;
  if (PyBytes_Check(object)) return PyBytes_GET_SIZE(object) > kDecimals;
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (may_be_over_limit(PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

}  // namespace

void guard_digits_limit(Context& ctx, PyObject* object) {
  if (may_be_over_limit(object))
    ctx.guards.ambient(guards::Ambient::DigitsLimit);
}

int64_t digits_limit() noexcept {
  static PyObject* const getter = find_object("sys.get_int_max_str_digits");
  Ref limit = Ref::steal(getter ? PyObject_CallNoArgs(getter) : nullptr);
  const int64_t value = limit ? PyLong_AsLongLong(limit) : -1;
  if (PyErr_Occurred()) PyErr_Clear();
  return value;
}

}  // namespace magneto::values
