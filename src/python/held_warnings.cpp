// SPDX-License-Identifier: BSD-3-Clause
#include "python/held_warnings.h"

namespace magneto::python {

namespace {

// The names and the filter below live as long as the process.
PyObject* filters_name() {
  static PyObject* const name = PyUnicode_InternFromString("filters");
  return name;
}

PyObject* ignore_all() {
  static PyObject* const filter =
      Py_BuildValue("(sOOOi)", "ignore", Py_None, PyExc_Warning, Py_None, 0);
  return filter;
}

// warnings.filters; borrowed, null if that isn't what it always is.
PyObject* current_filters() {
  static PyObject* const module = PyImport_ImportModule("warnings");
  if (module == nullptr || filters_name() == nullptr) return nullptr;
  PyObject* filters =
      PyDict_GetItemWithError(PyModule_GetDict(module), filters_name());
  return filters && PyList_CheckExact(filters) ? filters : nullptr;
}

}  // namespace

// The list is changed behind the back of `warnings`, whose functions would
// count up the filters' version, and every registry would forget.
HeldWarnings::HeldWarnings() noexcept {
  PyObject* filters = current_filters();
  if (filters != nullptr && ignore_all() != nullptr &&
      PyList_Insert(filters, 0, ignore_all()) == 0)
    filters_ = Ref::share(filters);
  else
    PyErr_Clear();
}

HeldWarnings::~HeldWarnings() {
  if (!filters_) return;
  // Not always in front: what ran may have put filters before it.
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters_.get()); ++i) {
    if (PyList_GET_ITEM(filters_.get(), i) != ignore_all()) continue;
    PyList_SetSlice(filters_, i, i + 1, nullptr);
    return;
  }
}

}  // namespace magneto::python
