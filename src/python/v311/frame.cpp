// SPDX-License-Identifier: BSD-3-Clause
// Frames (their objects: shown_frame.cpp). What it relies on:
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
#include <opcode.h>
#undef Py_BUILD_CORE

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "python/code_extra.h"
#include "python/code_object.h"
#include "python/pending_error.h"
#include "python/shown_frame.h"
#include "python/v311/only.h"
#include "support/check.h"
#include "support/stack_room.h"

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

PyObject* evaluate(PyThreadState* state, _PyInterpreterFrame* frame,
                   int throwing);

_PyFrameEvalFunction current_hook() noexcept {
  return _PyInterpreterState_GetEvalFrameFunc(interpreter());
}

void set_hook(_PyFrameEvalFunction hook) noexcept {
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), hook);
}

// Puts back what was there before ours.
void remove_hook() noexcept {
  set_hook(next_hook ? next_hook : _PyEval_EvalFrameDefault);
  next_hook = nullptr;
}

// ---- What hangs on code objects ---------------------------------------------

// The action for a code object, as a number.
const CodeExtra& actions() {
  static const CodeExtra extra(nullptr);
  return extra;
}

const CodeExtra& carriers() {
  static const CodeExtra extra([](void* carrier) noexcept {
    Py_XDECREF(static_cast<PyObject*>(carrier));
  });
  return extra;
}

// A code object like `code` that takes no arguments: frames of the same size
// can be pushed for it without any. Borrowed.
PyCodeObject* carrier_of(PyCodeObject* code) noexcept {
  if (argument_count(code) == 0) return code;
  if (void* extra = carriers().get(code))
    return static_cast<PyCodeObject*>(extra);
  auto* object = reinterpret_cast<PyObject*>(code);
  Ref replace = Ref::steal(PyObject_GetAttrString(object, "replace"));
  Ref no_args = Ref::steal(PyTuple_New(0));
  Ref changes = Ref::steal(
      Py_BuildValue("{s:i,s:i,s:i,s:i}", "co_argcount", 0, "co_posonlyargcount",
                    0, "co_kwonlyargcount", 0, "co_flags",
                    code->co_flags & ~(CO_VARARGS | CO_VARKEYWORDS)));
  if (!replace || !no_args || !changes) return nullptr;
  Ref carrier = Ref::steal(PyObject_Call(replace, no_args, changes));
  if (!carrier) return nullptr;
  if (!carriers().set(code, carrier.get())) {
    PyErr_NoMemory();
    return nullptr;
  }
  return reinterpret_cast<PyCodeObject*>(carrier.release());
}

// ---- Evaluation -------------------------------------------------------------

// All hooks are out of the way, since with any of them Python's calls need the
// C stack. Frames of other threads, too, run in plain Python meanwhile.
class UnhookedScope {
 public:
  UnhookedScope() noexcept : hook_(current_hook()), next_hook_(next_hook) {
    set_hook(_PyEval_EvalFrameDefault);
  }
  ~UnhookedScope() {
    const _PyFrameEvalFunction left = current_hook();
    if (left != _PyEval_EvalFrameDefault && left != evaluate) return;
    next_hook = next_hook_;
    set_hook(hook_);
    if (hook_ == evaluate && lookers == 0) remove_hook();
  }
  UnhookedScope(const UnhookedScope&) = delete;
  UnhookedScope& operator=(const UnhookedScope&) = delete;

 private:
  _PyFrameEvalFunction hook_;  // ours, or one that was put on top of it
  _PyFrameEvalFunction next_hook_;
};

// Gives a frame to whoever comes after us.
PyObject* pass_on(PyThreadState* state, _PyInterpreterFrame* frame,
                  int throwing) {
  std::optional<UnhookedScope> unhooked;
  if (!has_stack_room() && current_hook() != _PyEval_EvalFrameDefault)
    unhooked.emplace();
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
  std::optional<FrameHookScope> pause;
  switch (handlers.run(request, &result)) {
    case FrameAnswer::Ran:
      return result;
    case FrameAnswer::Pause:
      pause.emplace(false);
      break;
    case FrameAnswer::Evaluate:
      break;
  }
  return pass_on(state, frame, 0);
}

// Whether the frame has come to the end of an exception that it has raised
// itself, or let pass: its traceback has got an entry for that.
bool adds_traceback(const FrameEntry& entry) {
  const _Py_CODEUNIT first = _PyCode_CODE(entry.code)[entry.unit];
  return _Py_OPCODE(first) != RAISE_VARARGS || _Py_OPARG(first) != 0;
}

// An exception leaves an island: its entry in the traceback tells the place in
// the function.
void place_in_function(const _PyInterpreterFrame* frame,
                       const FrameEntry& entry) {
  PendingError error = PendingError::take();
  auto* first = reinterpret_cast<PyTracebackObject*>(error.traceback());
  if (first && first->tb_frame == frame->frame_obj && adds_traceback(entry))
    first->tb_lasti = byte_of(entry.island_unit);
  std::move(error).restore();
}

PyObject* evaluate_expected(PyThreadState* state, _PyInterpreterFrame* frame,
                            const Expected& expected, int throwing) {
  if (!expected.entry) return _PyEval_EvalFrameDefault(state, frame, throwing);
  const FrameEntry& entry = *expected.entry;
  fill(frame, entry);
  if (entry.shown && *entry.shown) adopt(frame, *entry.shown);
  if (entry.raises) {
    std::move(*expected.raised).restore();
    throwing = 1;
  }
  std::optional<FrameHookScope> pause;
  if (entry.pauses) pause.emplace(false);
  PyObject* result = _PyEval_EvalFrameDefault(state, frame, throwing);
  if (!result && entry.island_of) place_in_function(frame, entry);
  if (entry.shown && !*entry.shown)
    *entry.shown = Ref::share(seen_object(frame));
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
      if (handlers.run && !thread_is_traced() && has_stack_room())
        return give_to_handler(state, frame);
      break;
    case FrameAction::Pause:
    case FrameAction::Books: {
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
  if (void* extra = actions().get(code))
    return static_cast<FrameAction>(reinterpret_cast<uintptr_t>(extra));
  FrameAction action = FrameAction::Evaluate;
  if (handlers.classify) action = handlers.classify(code);
  set_frame_action(code, action);
  return action;
}

void set_frame_action(PyCodeObject* code, FrameAction action) noexcept {
  (void)actions().set(code,
                      reinterpret_cast<void*>(static_cast<uintptr_t>(action)));
}

FrameHookScope::FrameHookScope(bool looking) noexcept
    : looking_(looking), was_looking_(thread.looking) {
  thread.looking = looking;
  if (!looking) return;
  ++lookers;
  const _PyFrameEvalFunction current = current_hook();
  if (current == evaluate) return;
  replaced_ = current;
  replaced_next_ = next_hook;
  next_hook = current == _PyEval_EvalFrameDefault ? nullptr : current;
  set_hook(evaluate);
}

FrameHookScope::~FrameHookScope() {
  thread.looking = was_looking_;
  if (!looking_) return;
  --lookers;
  // Another hook may have been put on top of ours meanwhile; it keeps ours as
  // its next one, which lets everything pass while nobody is looking.
  if (current_hook() != evaluate) return;
  if (replaced_ && (lookers == 0 || replaced_ != _PyEval_EvalFrameDefault)) {
    set_hook(replaced_);
    next_hook = replaced_next_;
  } else if (lookers == 0) {
    // Another thread put ours there and left first.
    remove_hook();
  }
}

bool frames_are_looked_at() noexcept { return thread.looking; }

bool foreign_frame_hook() noexcept {
  const _PyFrameEvalFunction current = current_hook();
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
  if (entry.island_of && entry.shown && *entry.shown)
    show_at(*entry.shown, entry.island_of, entry.island_unit);
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
