// SPDX-License-Identifier: BSD-3-Clause
// The Python error that is set, put aside while other things run.
#pragma once

#include <frameobject.h>

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
  // Its traceback loses the outermost frame if that runs `code`.
  void drop_frame_of(PyCodeObject* code) noexcept {
    if (!traceback_) return;
    auto* top = reinterpret_cast<PyTracebackObject*>(traceback_.get());
    Ref of_frame =
        Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(top->tb_frame)));
    if (of_frame.get() != reinterpret_cast<PyObject*>(code)) return;
    traceback_ = Ref::share(reinterpret_cast<PyObject*>(top->tb_next));
  }

  bool is(PyObject* exception_class) const noexcept {
    return PyErr_GivenExceptionMatches(type_, exception_class);
  }

 private:
  Ref type_, value_, traceback_;
};

}  // namespace magneto::python
