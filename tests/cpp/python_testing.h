// SPDX-License-Identifier: BSD-3-Clause
// For tests that need Python objects: they are written as Python source.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "python/ref.h"

namespace magneto::testing {

// A namespace in which source was executed.
class Program {
 public:
  explicit Program(const std::string& source)
      : globals_(Ref::steal(PyDict_New())) {
    PyDict_SetItemString(globals_, "__builtins__", PyEval_GetBuiltins());
    run(source);
  }

  void run(const std::string& source) {
    Ref done = Ref::steal(
        PyRun_String(source.c_str(), Py_file_input, globals_, globals_));
    if (!done) {
      PyErr_Print();
      ADD_FAILURE() << "the test's own source failed: " << source;
    }
  }
  // The value of an expression.
  Ref eval(const std::string& source) {
    Ref value = Ref::steal(
        PyRun_String(source.c_str(), Py_eval_input, globals_, globals_));
    if (!value) PyErr_Print();
    EXPECT_TRUE(value) << source;
    return value;
  }
  // Borrowed.
  PyObject* get(const char* name) {
    PyObject* value = PyDict_GetItemString(globals_, name);
    EXPECT_NE(value, nullptr) << name;
    return value;
  }
  void set(const char* name, PyObject* value) {
    PyDict_SetItemString(globals_, name, value);
  }
  bool check(const std::string& expression) {
    Ref value = eval(expression);
    return value.get() == Py_True;
  }
  PyObject* globals() { return globals_; }
  PyCodeObject* code(const char* function) {
    return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(get(function)));
  }

 private:
  Ref globals_;
};

// The type and text of the pending Python error, which is cleared.
inline std::string take_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref kind = Ref::steal(type), error = Ref::steal(value),
      trace = Ref::steal(traceback);
  if (!error) return "no error";
  Ref text = Ref::steal(PyObject_Str(error));
  const char* chars = text ? PyUnicode_AsUTF8(text) : "?";
  return std::string(Py_TYPE(error.get())->tp_name) + ": " + chars;
}

}  // namespace magneto::testing
