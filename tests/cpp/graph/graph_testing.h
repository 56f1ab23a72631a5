// SPDX-License-Identifier: BSD-3-Clause
// What the graph room's tests share: Python values without ceremony.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace magneto::graph {

inline Ref text(const char* value) {
  return Ref::steal(PyUnicode_InternFromString(value));
}

inline Ref number(long value) { return Ref::steal(PyLong_FromLong(value)); }

inline Ref imported(const char* module, const char* name) {
  Ref owner = Ref::steal(PyImport_ImportModule(module));
  return owner ? Ref::steal(PyObject_GetAttrString(owner, name)) : nullptr;
}

inline std::string repr(PyObject* object) {
  if (object == nullptr) return "<null>";
  Ref value = Ref::steal(PyObject_Repr(object));
  return PyUnicode_AsUTF8(value.get());
}

// The value of an expression over the builtins.
inline Ref evaluate(const char* expression) {
  Ref globals = Ref::steal(PyDict_New());
  return Ref::steal(PyRun_String(expression, Py_eval_input, globals, globals));
}

// Keeps what a test made alive until its end, so it can be passed on.
class Kept {
 public:
  PyObject* operator()(Ref object) {
    objects_.push_back(std::move(object));
    return objects_.back();
  }

 private:
  std::vector<Ref> objects_;
};

}  // namespace magneto::graph
