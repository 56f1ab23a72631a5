// SPDX-License-Identifier: BSD-3-Clause
// How much a container has, and how much a deque may have.
#include "guards/check.h"
#include "guards/wording.h"
#include "python/deque_layout.h"

namespace magneto::guards {

Py_ssize_t plain_length(PyObject* value) noexcept {
  if (PyList_Check(value) || PyTuple_Check(value) || PyBytes_Check(value) ||
      PyByteArray_Check(value)) {
    return Py_SIZE(value);
  }
  if (PyDict_Check(value)) return PyDict_GET_SIZE(value);
  if (PyAnySet_Check(value)) return PySet_GET_SIZE(value);
  if (PyUnicode_Check(value)) return PyUnicode_GET_LENGTH(value);
  if (python::is_deque(value)) return Py_SIZE(value);
  return -1;
}

bool check_Length(const Check& check, PyObject* value) noexcept {
  return plain_length(value) == check.number;
}

Wording word_Length(const Check& check, const std::string& name,
                    PyObject* value) {
  return {"len(" + name + ") == " + std::to_string(check.number),
          it_is(value, [](PyObject* v) {
            const Py_ssize_t n = plain_length(v);
            return n < 0 ? show(v) : std::to_string(n);
          })};
}

bool check_DequeLimit(const Check& check, PyObject* value) noexcept {
  return python::is_deque(value) && python::deque_limit(value) == check.number;
}

Wording word_DequeLimit(const Check& check, const std::string& name,
                        PyObject* value) {
  return {name + ".maxlen == " + std::to_string(check.number),
          it_is(value, [](PyObject* v) {
            return python::is_deque(v) ? std::to_string(python::deque_limit(v))
                                       : show(v);
          })};
}

}  // namespace magneto::guards
