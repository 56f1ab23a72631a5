// SPDX-License-Identifier: BSD-3-Clause
// Frames of CPython 3.11: the only file that includes CPython's internal
// headers. What it relies on:
//
// - _PyEval_Vector (Python/ceval.c) pushes a frame, fills in the arguments,
//   calls the hook and afterwards clears and pops the frame. Until the frame is
//   evaluated nobody else sees it.
// - _PyEval_EvalFrameDefault begins with the instruction behind `prev_instr`
//   and the stack that `stacktop` says, as it must for generators. So a frame
//   whose locals, stack and prev_instr were filled in runs from the middle.
#include "python/frame.h"

#define Py_BUILD_CORE
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "python/code_object.h"
#include "python/handled.h"
#include "python/pending_error.h"
#include "support/check.h"

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030C0000
#error "frame_311.cpp knows the frames of CPython 3.11 only"
#endif

namespace magneto::python {
namespace {

// A frame that run_from_middle() or call_plainly() is about to have pushed: the
// hook takes it when it sees a frame of `carrier`.
struct Expected {
  PyCodeObject* carrier = nullptr;
  const FrameEntry* entry = nullptr;  // null: evaluate it as it is
  PendingError* raised = nullptr;     // what `entry` begins with
};

// Per thread. The GIL is held wherever these are read.
struct ThreadState {
  bool looking = false;
  Expected expected;
  // A frame given to another hook, which may give it back to ours.
  _PyInterpreterFrame* passed = nullptr;
  // What call_giving() gives to the frame that is evaluated next.
  std::span<Ref> given;
};
thread_local ThreadState thread;

FrameHandlers handlers;
// What was installed when our hook was put on top; null: CPython's own.
_PyFrameEvalFunction next_hook = nullptr;
// FrameHookScopes that are looking, in all threads.
size_t lookers = 0;

PyInterpreterState* interpreter() { return PyInterpreterState_Get(); }

// ---- What hangs on code objects ---------------------------------------------

// The action for a code object, as a number in its co_extra.
Py_ssize_t action_index() {
  static const Py_ssize_t index = _PyEval_RequestCodeExtraIndex(nullptr);
  return index;
}

void free_carrier(void* carrier) noexcept {
  Py_XDECREF(static_cast<PyObject*>(carrier));
}

Py_ssize_t carrier_index() {
  static const Py_ssize_t index = _PyEval_RequestCodeExtraIndex(free_carrier);
  return index;
}

// A code object like `code` that takes no arguments: frames of the same size
// can be pushed for it without any. Borrowed.
PyCodeObject* carrier_of(PyCodeObject* code) noexcept {
  if (argument_count(code) == 0) return code;
  auto* object = reinterpret_cast<PyObject*>(code);
  void* extra = nullptr;
  if (_PyCode_GetExtra(object, carrier_index(), &extra) != 0) return nullptr;
  if (extra) return static_cast<PyCodeObject*>(extra);
  Ref replace = Ref::steal(PyObject_GetAttrString(object, "replace"));
  Ref no_args = Ref::steal(PyTuple_New(0));
  Ref changes = Ref::steal(
      Py_BuildValue("{s:i,s:i,s:i,s:i}", "co_argcount", 0, "co_posonlyargcount",
                    0, "co_kwonlyargcount", 0, "co_flags",
                    code->co_flags & ~(CO_VARARGS | CO_VARKEYWORDS)));
  if (!replace || !no_args || !changes) return nullptr;
  Ref carrier = Ref::steal(PyObject_Call(replace, no_args, changes));
  if (!carrier ||
      _PyCode_SetExtra(object, carrier_index(), carrier.get()) != 0) {
    return nullptr;
  }
  return reinterpret_cast<PyCodeObject*>(carrier.release());
}

// ---- Evaluation -------------------------------------------------------------

// Gives a frame to whoever comes after us.
PyObject* pass_on(PyThreadState* state, _PyInterpreterFrame* frame,
                  int throwing) {
  _PyFrameEvalFunction next = next_hook;
  if (next == nullptr || thread.passed == frame)
    return _PyEval_EvalFrameDefault(state, frame, throwing);
  // The other hook may have ours as its own next one.
  _PyInterpreterFrame* outer = thread.passed;
  thread.passed = frame;
  PyObject* result = next(state, frame, throwing);
  thread.passed = outer;
  return result;
}

// Fills in a frame that was pushed without arguments.
void fill(_PyInterpreterFrame* frame, const FrameEntry& entry) noexcept {
  PyCodeObject* code = entry.code;
  if (frame->f_code != code) {
    PyCodeObject* carrier = frame->f_code;
    Py_INCREF(code);
    frame->f_code = code;
    Py_DECREF(carrier);
  }
  const auto locals = static_cast<size_t>(code->co_nlocalsplus);
  for (size_t i = 0; i < entry.values.size(); ++i) {
    frame->localsplus[i] = entry.values[i];
    entry.values[i] = nullptr;
  }
  const size_t first_free = locals - entry.cells.size();
  for (size_t i = 0; i < entry.cells.size(); ++i) {
    Py_INCREF(entry.cells[i]);
    Py_XSETREF(frame->localsplus[first_free + i], entry.cells[i]);
  }
  frame->stacktop = static_cast<int>(entry.values.size());
  // An instruction that raises has been begun.
  frame->prev_instr = _PyCode_CODE(code) + entry.unit - (entry.raises ? 0 : 1);
}

PyObject* give_to_handler(PyThreadState* state, _PyInterpreterFrame* frame) {
  PyCodeObject* code = frame->f_code;
  PyObject* closure = frame->f_func->func_closure;
  FrameRequest request;
  request.code = code;
  request.globals = frame->f_globals;
  request.builtins = frame->f_builtins;
  if (closure) {
    request.cells = {&PyTuple_GET_ITEM(closure, 0),
                     static_cast<size_t>(PyTuple_GET_SIZE(closure))};
  }
  request.owned = {frame->localsplus, argument_count(code)};
  request.values = request.owned;
  PyObject* result = nullptr;
  if (handlers.run(request, &result)) return result;
  return pass_on(state, frame, 0);
}

void clear_variables(_PyInterpreterFrame* frame) {
  for (int i = 0; i < frame->f_code->co_nlocalsplus; ++i)
    Py_CLEAR(frame->localsplus[i]);
}

// The frame that stood for one which now raises in a handler, by the exception
// that it handles; null if there is none.
PyFrameObject* frame_of_handled(PendingError& error, PyCodeObject* function) {
  const Ref context = Ref::steal(PyException_GetContext(error.object()));
  if (!context) return nullptr;
  const Ref traceback = Ref::steal(PyException_GetTraceback(context));
  PyFrameObject* shown = shown_frame(traceback, function);
  return shown && shown->f_frame->f_code == function ? shown : nullptr;
}

// A new exception leaves the frame: its entry is of a frame that stands for all
// pieces of the call, if there is one or this is an island's; else null.
PyFrameObject* stand_for_call(PendingError& error,
                              const _PyInterpreterFrame* frame,
                              const FrameEntry& entry, bool* is_new) {
  auto* first = reinterpret_cast<PyTracebackObject*>(error.traceback());
  if (!first || first->tb_frame != frame->frame_obj) return nullptr;
  PyCodeObject* function = entry.island_of ? entry.island_of : entry.code;
  Ref shown = entry.is_handling ? Ref::share(reinterpret_cast<PyObject*>(
                                      frame_of_handled(error, function)))
                                : nullptr;
  if (!shown && entry.island_of) {
    shown = new_frame(function, entry.globals, entry.island_unit);
    if (!shown) {
      PyErr_Clear();  // the error counts that is taken
      return nullptr;
    }
    *is_new = true;
  }
  if (!shown) return nullptr;
  if (entry.island_of)
    first->tb_lasti =
        entry.island_unit * static_cast<int>(sizeof(_Py_CODEUNIT));
  Py_XSETREF(first->tb_frame,
             reinterpret_cast<PyFrameObject*>(shown.release()));
  return first->tb_frame;
}

// An exception leaves the frame. What is raised again has an entry of a frame
// that stood for this one when it was raised first: that gets the variables as
// they are now, and keeps others.
void show_variables(const _PyInterpreterFrame* frame, const FrameEntry& entry) {
  PendingError error = PendingError::take();
  PyFrameObject* object = shown_frame(error.traceback(), frame->f_code);
  bool is_new = false;
  if (!object) object = stand_for_call(error, frame, entry, &is_new);
  if (object && !object->f_back)
    object->f_back = PyThreadState_GetFrame(PyThreadState_Get());
  // What goes on and lets go of its variables would leave them there.
  if (object && (is_new || !entry.is_caught)) {
    _PyInterpreterFrame* shown = object->f_frame;
    if (shown->f_code == frame->f_code)
      shown->prev_instr = frame->prev_instr;
    else if (shown->f_code == entry.island_of)
      shown->prev_instr = _PyCode_CODE(shown->f_code) + entry.island_unit;
    const int count = frame->f_code->co_nlocalsplus;
    // None: somebody has called its frame.clear().
    shown->stacktop = std::max(shown->stacktop, count);
    for (int i = 0; i < count; ++i)
      if (PyObject* value = frame->localsplus[i])
        Py_XSETREF(shown->localsplus[i], Py_NewRef(value));
  }
  std::move(error).restore();
}

// The object of a frame that is about to be evaluated.
Ref object_of(PyThreadState* state, _PyInterpreterFrame* frame) {
  _PyInterpreterFrame* const current = state->cframe->current_frame;
  frame->previous = current;
  state->cframe->current_frame = frame;
  Ref object =
      Ref::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(state)));
  state->cframe->current_frame = current;
  return object;
}

// The rest of a call that handles an exception is this frame: what stood for
// the call in tracebacks is of no use any more, and would hold its variables.
void take_place_of_shown(PyThreadState* state, _PyInterpreterFrame* frame,
                         PyObject* handled) {
  Ref traceback = Ref::steal(PyException_GetTraceback(handled));
  PyFrameObject* shown = shown_frame(traceback, frame->f_code);
  const Ref object = shown ? object_of(state, frame) : nullptr;
  if (!object) {
    PyErr_Clear();
    return;
  }
  const Ref kept = Ref::share(reinterpret_cast<PyObject*>(shown));
  Ref exception = Ref::share(handled);
  constexpr int kMost = 100;  // a chain may be a ring
  for (int i = 0; exception && i < kMost; ++i) {
    Ref next = Ref::steal(PyException_GetTraceback(exception));
    for (PyObject* entry = next; entry;) {
      auto* at = reinterpret_cast<PyTracebackObject*>(entry);
      if (at->tb_frame == shown)
        Py_SETREF(at->tb_frame,
                  reinterpret_cast<PyFrameObject*>(Py_NewRef(object.get())));
      entry = reinterpret_cast<PyObject*>(at->tb_next);
    }
    exception = Ref::steal(PyException_GetContext(exception));
  }
}

PyObject* evaluate_expected(PyThreadState* state, _PyInterpreterFrame* frame,
                            const Expected& expected, int throwing) {
  if (!expected.entry) return _PyEval_EvalFrameDefault(state, frame, throwing);
  fill(frame, *expected.entry);
  if (PyObject* handled = expected.entry->handled)
    take_place_of_shown(state, frame, handled);
  if (expected.entry->raises) {
    std::move(*expected.raised).restore();
    throwing = 1;
  }
  std::optional<FrameHookScope> pause;
  if (expected.entry->pauses) pause.emplace(false);
  if (PyObject* handled = expected.entry->let_go_by) {
    const Ref traceback = Ref::steal(PyException_GetTraceback(handled));
    if (PyFrameObject* shown = shown_frame(traceback, frame->f_code))
      clear_variables(shown->f_frame);
  }
  PyObject* result = _PyEval_EvalFrameDefault(state, frame, throwing);
  if (!result) show_variables(frame, *expected.entry);
  return result;
}

PyObject* evaluate(PyThreadState* state, _PyInterpreterFrame* frame,
                   int throwing) {
  if (thread.expected.carrier && thread.expected.carrier == frame->f_code) {
    return evaluate_expected(state, frame, std::exchange(thread.expected, {}),
                             throwing);
  }
  for (Ref& given : std::exchange(thread.given, {})) given = nullptr;
  if (!thread.looking || thread.passed == frame)
    return pass_on(state, frame, throwing);
  constexpr int kSuspendable =
      CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  const int flags = frame->f_code->co_flags;
  if (throwing || (flags & kSuspendable) || (flags & kFunction) != kFunction ||
      frame->f_locals) {
    return pass_on(state, frame, throwing);
  }
  switch (frame_action(frame->f_code)) {
    case FrameAction::Handle:
      if (handlers.run && !thread_is_traced())
        return give_to_handler(state, frame);
      break;
    case FrameAction::Pause: {
      FrameHookScope pause(false);
      return pass_on(state, frame, throwing);
    }
    case FrameAction::Evaluate:
    case FrameAction::Whole:
      break;
  }
  return pass_on(state, frame, throwing);
}

}  // namespace

size_t argument_count(PyCodeObject* code) noexcept {
  return static_cast<size_t>(code->co_argcount + code->co_kwonlyargcount) +
         ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

void set_frame_handlers(const FrameHandlers& new_handlers) noexcept {
  handlers = new_handlers;
}

FrameAction frame_action(PyCodeObject* code) noexcept {
  auto* object = reinterpret_cast<PyObject*>(code);
  void* extra = nullptr;
  if (_PyCode_GetExtra(object, action_index(), &extra) != 0) PyErr_Clear();
  if (extra)
    return static_cast<FrameAction>(reinterpret_cast<uintptr_t>(extra));
  FrameAction action = FrameAction::Evaluate;
  if (handlers.classify) action = handlers.classify(code);
  set_frame_action(code, action);
  return action;
}

void set_frame_action(PyCodeObject* code, FrameAction action) noexcept {
  void* extra = reinterpret_cast<void*>(static_cast<uintptr_t>(action));
  if (_PyCode_SetExtra(reinterpret_cast<PyObject*>(code), action_index(),
                       extra) != 0) {
    PyErr_Clear();
  }
}

FrameHookScope::FrameHookScope(bool looking) noexcept
    : looking_(looking), was_looking_(thread.looking) {
  thread.looking = looking;
  if (!looking) return;
  ++lookers;
  _PyFrameEvalFunction current =
      _PyInterpreterState_GetEvalFrameFunc(interpreter());
  if (current == evaluate) return;
  replaced_ = current;
  replaced_next_ = next_hook;
  next_hook = current == _PyEval_EvalFrameDefault ? nullptr : current;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), evaluate);
}

FrameHookScope::~FrameHookScope() {
  thread.looking = was_looking_;
  if (!looking_) return;
  --lookers;
  // Another hook may have been put on top of ours meanwhile; it keeps ours as
  // its next one, which lets everything pass while nobody is looking.
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter()) != evaluate) return;
  if (replaced_ && (lookers == 0 || replaced_ != _PyEval_EvalFrameDefault)) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter(), replaced_);
    next_hook = replaced_next_;
  } else if (lookers == 0) {
    // Another thread put ours there and left first.
    _PyInterpreterState_SetEvalFrameFunc(
        interpreter(), next_hook ? next_hook : _PyEval_EvalFrameDefault);
    next_hook = nullptr;
  }
}

bool frames_are_looked_at() noexcept { return thread.looking; }

bool foreign_frame_hook() noexcept {
  _PyFrameEvalFunction current =
      _PyInterpreterState_GetEvalFrameFunc(interpreter());
  if (current == evaluate) return next_hook != nullptr;
  return current != _PyEval_EvalFrameDefault;
}

PyObject* run_from_middle(const FrameEntry& entry) noexcept {
  PyObject* result = nullptr;
  PendingError raised;
  if (entry.raises) raised = PendingError::take();
  PyCodeObject* carrier = carrier_of(entry.code);
  Ref function =
      Ref::steal(carrier ? PyFunction_New(reinterpret_cast<PyObject*>(carrier),
                                          entry.globals)
                         : nullptr);
  if (function) {
    FrameHookScope looking(true);
    const Expected outer =
        std::exchange(thread.expected, Expected{carrier, &entry, &raised});
    result = _PyFunction_Vectorcall(function, nullptr, 0, nullptr);
    thread.expected = outer;
  }
  // Not taken: the frame could not be pushed.
  for (PyObject*& value : entry.values) Py_CLEAR(value);
  return result;
}

PyObject* make_generator(PyCodeObject* code, PyObject* globals) noexcept {
  const bytecode::Code& instructions = decoded(code);
  int32_t index = 0;
  while (instructions[index].op != bytecode::Op::ReturnGenerator) ++index;
  // The instruction moves the frame's locals, all of them NULL, into a new
  // generator.
  std::vector<PyObject*> locals(static_cast<size_t>(code->co_nlocalsplus));
  PyObject* made = run_from_middle({.code = code,
                                    .unit = instructions[index].offset,
                                    .globals = globals,
                                    .values = locals});
  if (!made) return nullptr;
  // It is said to be of the carrier, as the function is.
  auto* generator = reinterpret_cast<PyGenObject*>(made);
  Ref carrier = Ref::steal(reinterpret_cast<PyObject*>(std::exchange(
      generator->gi_code, BasicRef<PyCodeObject>::share(code).release())));
  return made;
}

void fill_generator(PyObject* object, GeneratorPhase phase, int32_t unit,
                    PyObject* function, PyObject* handled,
                    std::span<PyObject* const> values) noexcept {
  auto* generator = reinterpret_cast<PyGenObject*>(object);
  if (phase == GeneratorPhase::Finished) {
    // One that has not begun is closed without running.
    Ref closed = Ref::steal(PyObject_CallMethod(object, "close", nullptr));
    MG_CHECK(closed, "a generator that has not begun can be closed");
    return;
  }
  auto* frame = reinterpret_cast<_PyInterpreterFrame*>(generator->gi_iframe);
  if (function)
    Py_SETREF(frame->f_func,
              reinterpret_cast<PyFunctionObject*>(Py_NewRef(function)));
  for (size_t i = 0; i < values.size(); ++i)
    frame->localsplus[i] = Ref::share(values[i]).release();
  frame->stacktop = static_cast<int>(values.size());
  frame->prev_instr = _PyCode_CODE(frame->f_code) + unit - 1;
  generator->gi_exc_state.exc_value = Ref::share(handled).release();
  generator->gi_frame_state = static_cast<int8_t>(
      phase == GeneratorPhase::Created ? FRAME_CREATED : FRAME_SUSPENDED);
}

PyObject* call_giving(PyObject* function, std::span<Ref> arguments,
                      PyObject* names) noexcept {
  std::vector<PyObject*> borrowed;
  for (const Ref& argument : arguments) borrowed.push_back(argument.get());
  const auto named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  thread.given = arguments;
  PyObject* result = _PyFunction_Vectorcall(function, borrowed.data(),
                                            arguments.size() - named, names);
  thread.given = {};
  return result;
}

PyObject* call_plainly(PyObject* function, PyObject* const* args, size_t nargsf,
                       PyObject* names) noexcept {
  if (!PyFunction_Check(function))
    return PyObject_Vectorcall(function, args, nargsf, names);
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  FrameHookScope looking(true);
  const Expected outer = std::exchange(thread.expected, Expected{code});
  PyObject* result = PyObject_Vectorcall(function, args, nargsf, names);
  thread.expected = outer;
  return result;
}

size_t recursion_depth() noexcept {
  const PyThreadState* state = PyThreadState_Get();
  const int depth = state->recursion_limit - state->recursion_remaining;
  return depth > 0 ? static_cast<size_t>(depth) : 0;
}

bool thread_is_traced() noexcept {
  return PyThreadState_Get()->c_tracefunc != nullptr;
}

}  // namespace magneto::python
