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

// The frame that a traceback begins with, if it stands for frames of this
// function: one that has ended, or goes on as another one behind a graph break.
// Borrowed; null otherwise. No Python error may be set, and none is set by it.
PyFrameObject* shown_frame(PyObject* traceback,
                           const PyCodeObject* code) noexcept;

// The frame object of a call that is at this code unit, without variables. Null
// with a Python error set.
Ref new_frame(PyCodeObject* code, PyObject* globals, int unit);

// A callable (code, globals, code unit, handled) that gives the frame object of
// a call. Where it handles an exception, it is the one that stands for the call
// in that one's traceback, if there is one. Borrowed; lives as long as the
// process.
PyObject* frame_maker() noexcept;

// A callable (frame, token, localsplus ...) that puts values into such a frame;
// the token stands for an unbound variable. Borrowed; lives as long as the
// process.
PyObject* frame_filler() noexcept;

// A traceback entry of such a frame. Null with a Python error set.
Ref make_traceback(PyObject* next, PyCodeObject* code, PyObject* globals,
                   int unit);

}  // namespace magneto::python
