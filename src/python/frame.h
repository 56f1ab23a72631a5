// SPDX-License-Identifier: BSD-3-Clause
// Frames: what one brings to a trace, the hook through which CPython evaluates
// them (PEP 523), and running a code object from the middle. The .cpp is the
// only code that knows how a CPython version lays a frame out.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>

#include "python/ref.h"

namespace magneto::python {

// What a frame brings along when it is about to run, from its start or, after a
// graph break, from the middle. Everything is borrowed.
struct FrameRequest {
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  PyObject* builtins = nullptr;
  // The cells of the function's closure, in the order of co_freevars.
  std::span<PyObject* const> cells;
  // start == 0: the bound arguments in the order of co_varnames, star arguments
  // included as their tuple and dict.
  // start != 0: one entry for each localsplus slot, null where it is unbound or
  // dead, a cell object for a variable that has one (for free variables see
  // `cells`: their slots are null here); then the operand stack, bottom first,
  // null where CPython has NULL.
  std::span<PyObject* const> values;
  // start == 0: the frame's own references to the arguments; empty where it has
  // none, since the caller holds them.
  std::span<PyObject*> owned;
  // The canonical instruction to begin with. 0: the first one, with the
  // function's prologue (MakeCell, CopyFreeVars) still to be executed; else
  // that has been done.
  int32_t start = 0;
  // start != 0: how many exception handlers the frame is in. The thread handles
  // the exception of the innermost one.
  int32_t handlers = 0;

  size_t stack_depth() const {
    return start == 0
               ? 0
               : values.size() - static_cast<size_t>(code->co_nlocalsplus);
  }
};

// How many of a code object's localsplus slots its arguments take.
size_t argument_count(PyCodeObject* code) noexcept;

// ---- The hook ---------------------------------------------------------------
// What to do with frames of a code object.
enum class FrameAction : uint8_t {
  Evaluate = 1,  // as CPython does; what it calls is looked at
  Pause,         // the same, and what it calls is left alone
  Handle,        // give it to the handler
  Whole,         // Evaluate; inlined, it is traced whole or not at all
  Books,         // Pause; inlined, as Whole, and it records no operation
};

// What a handler says of a frame.
enum class FrameAnswer : uint8_t {
  Ran,       // it has run: *result is its result; null: a Python error is set
  Evaluate,  // nothing: CPython shall evaluate it
  Pause,     // the same, and what it calls is left alone
};

struct FrameHandlers {
  // Asked once for each code object; runs no Python code.
  FrameAction (*classify)(PyCodeObject* code) noexcept = nullptr;
  FrameAnswer (*run)(const FrameRequest& request,
                     PyObject** result) noexcept = nullptr;
};
void set_frame_handlers(const FrameHandlers& handlers) noexcept;

// What to do with frames of `code`; asks classify() the first time.
FrameAction frame_action(PyCodeObject* code) noexcept;

// Overrides what classify() said of one code object.
void set_frame_action(PyCodeObject* code, FrameAction action) noexcept;

// While one lives, this thread's frames go through the handlers (looking true)
// or don't (false). The hook is on top of CPython's chain of hooks exactly
// while some thread is looking; other hooks get what ours lets pass. Scopes of
// a thread nest.
class FrameHookScope {
 public:
  explicit FrameHookScope(bool looking) noexcept;
  ~FrameHookScope();
  FrameHookScope(const FrameHookScope&) = delete;
  FrameHookScope& operator=(const FrameHookScope&) = delete;

 private:
  bool looking_;
  bool was_looking_;
  _PyFrameEvalFunction replaced_ = nullptr;  // null: nothing was replaced
  _PyFrameEvalFunction replaced_next_ = nullptr;
};

// True while this thread's frames go through the handlers.
bool frames_are_looked_at() noexcept;

// True if CPython has a frame hook that isn't ours: torch.compile's, say.
bool foreign_frame_hook() noexcept;

// ---- Running from the middle ------------------------------------------------
struct FrameEntry {
  PyCodeObject* code;
  int32_t unit;  // the code unit to begin with (Instruction::offset)
  PyObject* globals;
  std::span<PyObject* const> cells;  // borrowed
  // As in FrameRequest with start != 0. The references are taken over, and the
  // entries set to null, whether it succeeds or not.
  std::span<PyObject*> values;
  // The instruction at `unit` raises the Python error that is set: the frame
  // goes on with its handler, or ends.
  bool raises = false;
  // What it calls is left alone.
  bool pauses = false;
  // The frame object of the call that the frame is a piece of, or where to
  // leave it once somebody has seen it (python/shown_frame.h); null for the
  // generators that are made.
  Ref* shown = nullptr;
  // Where `code` is an island's: the function's, and the instruction there.
  PyCodeObject* island_of = nullptr;
  int32_t island_unit = 0;
};

// Runs a frame of `code` from the middle until it returns; null with a Python
// error set if it raises. To the user it is a frame of that code like any
// other. What it calls is looked at, unless the entry says otherwise. Runs user
// code.
PyObject* run_from_middle(const FrameEntry& entry) noexcept;

// ---- Generators -------------------------------------------------------------
// A generator of `code` that has not begun, without its arguments; null with a
// Python error set.
PyObject* make_generator(PyCodeObject* code, PyObject* globals) noexcept;

enum class GeneratorPhase : uint8_t { Created, Suspended, Finished };

// Puts such a generator where it would be after some steps: it goes on at
// `unit`. `function`: which it holds as the one that has made it, or null.
// `handled`: the exception that it is handling, or null. `values` as in
// FrameRequest with start != 0, cells of the closure included. All of them are
// borrowed. Runs no user code.
void fill_generator(PyObject* generator, GeneratorPhase phase, int32_t unit,
                    PyObject* function, PyObject* handled,
                    std::span<PyObject* const> values) noexcept;

// ---- Calls ------------------------------------------------------------------
// Calls a Python function; its own frame is evaluated by CPython, what it calls
// is looked at. Runs user code.
PyObject* call_plainly(PyObject* function, PyObject* const* args, size_t nargsf,
                       PyObject* names) noexcept;

// Calls a Python function whose frame takes the arguments over: they are null
// by the time that it runs. `names` of the last ones, or null. Runs user code.
PyObject* call_giving(PyObject* function, std::span<Ref> arguments,
                      PyObject* names) noexcept;

// How many levels of sys.getrecursionlimit() the thread is in.
size_t recursion_depth() noexcept;

// True while a debugger or a coverage tool traces this thread (sys.settrace).
bool thread_is_traced() noexcept;

}  // namespace magneto::python
