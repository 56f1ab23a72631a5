// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/numpy_values.h"

#include "python/find.h"
#include "python/pending_error.h"
#include "values/protocol/operands.h"

namespace magneto::values {

namespace {

// A class of NumPy's, which lives as long as the process; null until NumPy is
// imported.
PyTypeObject* class_of_numpy(const char* path, PyTypeObject*& known) {
  if (!known) known = reinterpret_cast<PyTypeObject*>(find_object(path));
  return known;
}

}  // namespace

bool is_numpy_number(PyTypeObject* type) {
  // Its own classes aren't made by Python code.
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return false;
  static PyTypeObject *generic = nullptr, *number = nullptr, *boolean = nullptr;
  return class_of_numpy("numpy.generic", generic) &&
         class_of_numpy("numpy.number", number) &&
         class_of_numpy("numpy.bool_", boolean) &&
         (type == generic || type == boolean || PyType_IsSubtype(type, number));
}

bool are_made_arrays(V left, V right) {
  const auto is_unknown = [](V value) {
    return !is_safe_constant(value) && value->kind != Kind::Tensor;
  };
  return (is_unknown(right) && is_numpy_number(left->type)) ||
         (is_unknown(left) && is_numpy_number(right->type));
}

NumpyErrors::NumpyErrors(bool is_active) {
  if (!is_active) return;
  static PyObject* const set = find_object("numpy.seterr");
  MG_CHECK(set, "numpy.seterr");
  Ref all = Ref::steal(PyUnicode_FromString("raise"));
  Ref names = Ref::steal(Py_BuildValue("(s)", "all"));
  PyObject* const values[] = {all};
  before_ = Ref::steal(PyObject_Vectorcall(set, values, 0, names));
  if (!before_) PyErr_Clear();
}

NumpyErrors::~NumpyErrors() {
  if (!before_) return;
  python::PendingError error = python::PendingError::take();
  Ref none = Ref::steal(PyTuple_New(0));
  Ref done =
      Ref::steal(PyObject_Call(find_object("numpy.seterr"), none, before_));
  if (!done) PyErr_Clear();
  std::move(error).restore();
}

Signal numpy_error(Context& ctx) {
  if (!PyErr_ExceptionMatches(PyExc_FloatingPointError))
    return ctx.raise_from_python();
  PyErr_Clear();
  return ctx.graph_break("native-call", "a NumPy operation that warns",
                         "do it outside of the compiled function");
}

}  // namespace magneto::values
