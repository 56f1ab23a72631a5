// SPDX-License-Identifier: BSD-3-Clause
// The exception that a thread is handling (what sys.exc_info() tells), and
// frames that were never run, for tracebacks.
#pragma once

#include <utility>

#include "python/ref.h"

namespace magneto::python {

// The exception that this thread is handling, or null. Borrowed.
PyObject* handled_exception() noexcept;

// A frame between two pieces of it may be handling an exception; in the end the
// thread handles again what it did when the scope began.
class HandledScope {
 public:
  HandledScope() noexcept;
  ~HandledScope();
  HandledScope(const HandledScope&) = delete;

  // What the frame handles now; null: what the thread did before.
  void set(Ref exception) noexcept;

 private:
  _PyErr_StackItem* item_;
  Ref before_;
  bool is_changed_ = false;
};

// A callable (code, globals, code unit) that makes the frame object of a call
// that is over. Borrowed; lives as long as the process.
PyObject* frame_maker() noexcept;

// A callable (frame, token, localsplus ...) that puts values into such a frame;
// the token stands for an unbound variable. Borrowed; lives as long as the
// process.
PyObject* frame_filler() noexcept;

// A traceback entry of such a frame. Null with a Python error set.
Ref make_traceback(PyObject* next, PyCodeObject* code, PyObject* globals,
                   int unit);

}  // namespace magneto::python
