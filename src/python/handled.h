// SPDX-License-Identifier: BSD-3-Clause
// The exception that a thread is handling (what sys.exc_info() tells), and
// tracebacks of frames that were never run.
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

// A callable (code, globals, code unit, next, the frame's code unit) that makes
// the traceback entry of a frame that is no more. Borrowed; lives as long as
// the process.
PyObject* traceback_maker() noexcept;

// A callable (traceback, token, localsplus ...) that puts values into the frame
// of such an entry; the token stands for an unbound variable. Borrowed; lives
// as long as the process.
PyObject* traceback_filler() noexcept;

}  // namespace magneto::python
