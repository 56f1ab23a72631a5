// SPDX-License-Identifier: BSD-3-Clause
// The frame objects of calls that compiled pieces run: tracebacks have them,
// and other frames as their f_back. A call that runs in several pieces has one,
// made where somebody sees one first. Whoever runs the pieces keeps it from one
// to the next: a Ref that is null until then.
#pragma once

#include <span>

#include "python/ref.h"

struct _PyInterpreterFrame;

namespace magneto::python {

// Where frame_maker() finds and leaves those objects while a compiled piece
// runs: that of the piece's own call, and those of the inlined calls that it
// breaks in, outermost first. Scopes of a thread nest.
class ShownFramesScope {
 public:
  ShownFramesScope(Ref& own, std::span<Ref> inner) noexcept;
  ~ShownFramesScope();
  ShownFramesScope(const ShownFramesScope&) = delete;
  ShownFramesScope& operator=(const ShownFramesScope&) = delete;

  // Of the innermost scope; null where the piece has no such call.
  static Ref* at(Py_ssize_t place) noexcept;

 private:
  Ref& own_;
  std::span<Ref> inner_;
  const ShownFramesScope* outer_;
};

// A callable (code, globals, code unit, place) that gives the frame object of a
// call: with place 0 that of the piece's own, with n that of the n-th inlined
// one that it breaks in, else a new one. Borrowed; lives as long as the
// process.
PyObject* frame_maker() noexcept;

// A callable (frame, back, token, localsplus ...) that puts the caller's frame,
// unless that is None, and values into such a frame; the token stands for an
// unbound variable. Borrowed; lives as long as the process.
PyObject* frame_filler() noexcept;

// A traceback entry of a call that is at this code unit, with a frame of its
// own. Null with a Python error set.
Ref make_traceback(PyObject* next, PyCodeObject* code, PyObject* globals,
                   int unit);

// -- between the pieces of a call ---------------------------------------------

// The frame, which is about to be evaluated, runs the call's next piece: the
// object is that frame's, with all that it shows, until it ends.
void adopt(_PyInterpreterFrame* frame, PyObject* shown) noexcept;

// The call's frame as it is evaluated now, if anybody else has its object.
// Borrowed, or null.
PyObject* seen_object(const _PyInterpreterFrame* frame) noexcept;

// The piece was a code object of its own, which stands for the instruction of
// `code` at this unit.
void show_at(PyObject* shown, PyCodeObject* code, int unit) noexcept;

// The call goes on after a piece: its variables are its own again. Null if
// nobody else has the object.
void show_no_variables(Ref& shown) noexcept;

// The call has ended at this code unit, with these variables (as
// python::FrameRequest::values of the middle, null what isn't known any more)
// and the cells of its closure.
void show_end(PyObject* shown, int unit, std::span<PyObject* const> values,
              std::span<PyObject* const> cells) noexcept;

}  // namespace magneto::python
