// SPDX-License-Identifier: BSD-3-Clause
#include "python/held_warnings.h"

#include "python/find.h"

namespace magneto::python {

namespace {

using How = HeldWarnings::How;

thread_local HeldWarnings* innermost = nullptr;

// The objects below live as long as the process; null if there was no memory.

PyObject* filters_name() {
  static PyObject* const name = PyUnicode_InternFromString("filters");
  return name;
}

template <How how>
PyObject* match(PyObject*, PyObject*) {
  return PyBool_FromLong(HeldWarnings::meets(how));
}

// A filter looks at the text with `match`, if it has no plain string: ours says
// in which thread it is asked instead.
template <How how>
PyObject* make_filter(const char* action) {
  static PyMethodDef method{"match", match<how>, METH_O, nullptr};
  Ref types = import_module("types");
  if (!types) return nullptr;
  Ref message =
      Ref::steal(PyObject_CallMethod(types, "SimpleNamespace", nullptr));
  Ref function = Ref::steal(PyCFunction_New(&method, nullptr));
  if (!message || !function ||
      PyObject_SetAttrString(message, "match", function) < 0)
    return nullptr;
  return Py_BuildValue("(sOOOi)", action, message.get(), PyExc_Warning, Py_None,
                       0);
}

PyObject* filter(How how) {
  static PyObject* const ignore = make_filter<How::Dropped>("ignore");
  static PyObject* const error = make_filter<How::Raised>("error");
  return how == How::Dropped ? ignore : error;
}

// warnings.filters; borrowed, null if that isn't what it always is.
PyObject* current_filters() {
  static PyObject* const module = import_module("warnings").release();
  if (module == nullptr || filters_name() == nullptr) return nullptr;
  PyObject* filters =
      PyDict_GetItemWithError(PyModule_GetDict(module), filters_name());
  return filters && PyList_CheckExact(filters) ? filters : nullptr;
}

}  // namespace

// The list is changed behind the back of `warnings`, whose functions would
// count up the filters' version, and every registry would forget.
HeldWarnings::HeldWarnings(How how) noexcept : how_(how), outer_(innermost) {
  PyObject* filters = current_filters();
  if (filters != nullptr && filter(how) != nullptr &&
      PyList_Insert(filters, 0, filter(how)) == 0)
    filters_ = Ref::share(filters);
  else
    PyErr_Clear();
  innermost = this;
}

HeldWarnings::~HeldWarnings() {
  innermost = outer_;
  if (!filters_) return;
  // Not always in front: what ran may have put filters before it.
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters_.get()); ++i) {
    if (PyList_GET_ITEM(filters_.get(), i) != filter(how_)) continue;
    PyList_SetSlice(filters_, i, i + 1, nullptr);
    return;
  }
}

bool HeldWarnings::meets(How how) noexcept {
  if (innermost == nullptr || innermost->how_ != how) return false;
  innermost->any_ = true;
  return true;
}

}  // namespace magneto::python
