// SPDX-License-Identifier: BSD-3-Clause
// How far iterators are, and what else tells two of one class apart.
#include "guards/check.h"
#include "guards/wording.h"
#include "python/iterator_layout.h"
#include "python/itertools_layout.h"

namespace magneto::guards {

bool check_IteratorPosition(const Check& check, PyObject* value) noexcept {
  const auto iterator = python::counting_iterator(value);
  return iterator.is_one && iterator.next == check.number;
}

Wording word_IteratorPosition(const Check& check, const std::string& name,
                              PyObject* value) {
  return {"next(" + name + ") == " + std::to_string(check.number),
          it_is(value, [](PyObject* v) {
            const auto iterator = python::counting_iterator(v);
            return iterator.is_one ? std::to_string(iterator.next) : show(v);
          })};
}

bool check_IteratorNumbers(const Check& check, PyObject* value) noexcept {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(check.object); ++i) {
    PyObject* wanted = PyTuple_GET_ITEM(check.object, i);
    if (wanted == Py_None) continue;
    int64_t number = 0;
    if (!python::iterator_number(value, static_cast<size_t>(i), &number) ||
        number != PyLong_AsLongLong(wanted))
      return false;
  }
  return true;
}

Wording word_IteratorNumbers(const Check& check, const std::string& name,
                             PyObject*) {
  return {name + " is as far as " + show(check.object), "it is elsewhere"};
}

namespace {

int64_t trait(PyObject* value) noexcept {
  if (Py_IS_TYPE(value, &PyZip_Type)) return python::zip_is_strict(value);
  const auto table = python::table_iterator(value);
  if (table.is_one) return static_cast<int64_t>(table.gives);
  const auto iterator = python::counting_iterator(value);
  return iterator.is_one ? iterator.step : 0;
}

}  // namespace

bool check_IteratorTrait(const Check& check, PyObject* value) noexcept {
  return trait(value) == check.number;
}

Wording word_IteratorTrait(const Check& check, const std::string& name,
                           PyObject* value) {
  return {name + " steps like " + std::to_string(check.number),
          it_is(value, [](PyObject* v) { return std::to_string(trait(v)); })};
}

}  // namespace magneto::guards
