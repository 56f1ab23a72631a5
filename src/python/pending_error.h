// SPDX-License-Identifier: BSD-3-Clause
// The Python error that is set, put aside while other things run.
#pragma once

#include <frameobject.h>

#include <string>

#include "python/code_units.h"
#include "python/ref.h"

namespace magneto::python {

class PendingError {
 public:
  PendingError() = default;
  // Takes the error that is set, if there is one.
  static PendingError take() noexcept {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PendingError error;
    error.type_ = Ref::steal(type);
    error.value_ = Ref::steal(value);
    error.traceback_ = Ref::steal(traceback);
    return error;
  }
  // Sets it again.
  void restore() && noexcept {
    PyErr_Restore(type_.release(), value_.release(), traceback_.release());
  }
  // As the exception object that a handler gets, with its traceback.
  Ref as_object() && noexcept {
    normalize();
    PyException_SetTraceback(value_, traceback_ ? traceback_.get() : Py_None);
    return std::move(value_);
  }

  bool is(PyObject* exception_class) const noexcept {
    return PyErr_GivenExceptionMatches(type_, exception_class);
  }
  // The exception object; borrowed.
  PyObject* object() noexcept {
    normalize();
    return value_;
  }
  // Its text, as str() gives it; empty if it has none.
  std::string text() noexcept {
    normalize();
    Ref text = Ref::steal(PyObject_Str(value_));
    const char* chars = text ? PyUnicode_AsUTF8(text) : nullptr;
    PyErr_Clear();  // this error counts, not what its text raises
    return chars ? chars : "";
  }

  // Null: it has none.
  PyObject* traceback() const noexcept { return traceback_; }
  void set_traceback(Ref traceback) noexcept {
    traceback_ = std::move(traceback);
  }
  // Where the traceback begins with a frame of `code` at one code unit, it says
  // that the frame is at another one.
  void move_outermost(PyCodeObject* code, int from, int to) noexcept {
    auto* entry = reinterpret_cast<PyTracebackObject*>(traceback_.get());
    if (!entry || entry->tb_lasti != byte_of(from)) return;
    const auto of =
        BasicRef<PyCodeObject>::steal(PyFrame_GetCode(entry->tb_frame));
    if (of.get() != code) return;
    entry->tb_lasti = byte_of(to);
    entry->tb_lineno = PyCode_Addr2Line(code, entry->tb_lasti);
  }

 private:
  void normalize() noexcept {
    PyObject *type = type_.release(), *value = value_.release(),
             *traceback = traceback_.release();
    PyErr_NormalizeException(&type, &value, &traceback);
    type_ = Ref::steal(type);
    value_ = Ref::steal(value);
    traceback_ = Ref::steal(traceback);
  }

  Ref type_, value_, traceback_;
};

}  // namespace magneto::python
