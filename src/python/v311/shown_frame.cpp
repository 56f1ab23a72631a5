// SPDX-License-Identifier: BSD-3-Clause
// CPython 3.11: a frame object refers to the frame that it is of, which is on
// the thread's stack while it is evaluated, and afterwards within the object.
// _PyFrame_Clear() moves it there if anybody else has the object, and gives it
// the object of its caller's frame as f_back.
#include "python/shown_frame.h"

#define Py_BUILD_CORE
#include <frameobject.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include <algorithm>
#include <utility>
#include <vector>

#include "python/code_units.h"
#include "python/function_object.h"
#include "python/ownership.h"
#include "python/v311/only.h"

namespace magneto::python {

namespace {

thread_local const ShownFramesScope* innermost = nullptr;

PyFrameObject* frame_object(PyObject* object) {
  return reinterpret_cast<PyFrameObject*>(object);
}

bool has_ended(const PyFrameObject* frame) {
  return frame->f_frame->owner == FRAME_OWNED_BY_FRAME_OBJECT;
}

char kind_of(const PyCodeObject* code, int slot) {
  return PyBytes_AS_STRING(code->co_localspluskinds)[slot];
}

// Without variables. Null with a Python error set.
Ref new_frame(PyCodeObject* code, PyObject* globals) {
  Ref frame = Ref::steal(reinterpret_cast<PyObject*>(
      PyFrame_New(PyThreadState_Get(), code, globals, nullptr)));
  if (!frame) return nullptr;
  _PyInterpreterFrame* inside = frame_object(frame)->f_frame;
  // f_locals takes it that there are cells.
  for (int i = code->co_nlocalsplus - code->co_nfreevars;
       i < code->co_nlocalsplus; ++i) {
    inside->localsplus[i] = PyCell_New(nullptr);
    if (!inside->localsplus[i]) return nullptr;
  }
  return frame;
}

void put_variable(_PyInterpreterFrame* frame, int slot, PyObject* value) {
  const bool is_cell =
      (kind_of(frame->f_code, slot) & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
  if (!value || (is_cell && !PyCell_Check(value))) return;
  Ref old = Ref::steal(
      std::exchange(frame->localsplus[slot], Ref::share(value).release()));
}

// f_back of a call that the thread is in, or at the end of, without a frame.
void link_to_caller(PyFrameObject* frame) {
  if (!frame->f_back)
    frame->f_back = PyThreadState_GetFrame(PyThreadState_Get());
}

// Somebody may have called its frame.clear().
void make_room(_PyInterpreterFrame* frame) {
  frame->stacktop = std::max(frame->stacktop, frame->f_code->co_nlocalsplus);
}

// make(code, globals, unit, place)
PyObject* make_frame(PyObject*, PyObject* const* args,
                     Py_ssize_t count) noexcept {
  if (count != 4 || !PyCode_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "a frame is made of four parts");
    return nullptr;
  }
  auto* code = reinterpret_cast<PyCodeObject*>(args[0]);
  const Py_ssize_t place = PyLong_AsSsize_t(args[3]);
  Ref* kept = ShownFramesScope::at(place);
  Ref made = kept && *kept ? kept->share() : new_frame(code, args[1]);
  if (!made) return nullptr;
  PyFrameObject* frame = frame_object(made);
  if (frame->f_frame->f_code == code)
    frame->f_frame->prev_instr = _PyCode_CODE(code) + PyLong_AsLong(args[2]);
  if (place == 0) link_to_caller(frame);
  if (kept && !*kept) *kept = made.share();
  return made.release();
}

// fill(frame, back, token, localsplus ...)
PyObject* fill_frame(PyObject*, PyObject* const* args,
                     Py_ssize_t count) noexcept {
  if (count < 3 || !PyFrame_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "a frame, another one and a token");
    return nullptr;
  }
  PyFrameObject* frame = frame_object(args[0]);
  if (PyFrame_Check(args[1]) && !frame->f_back)
    frame->f_back = frame_object(Ref::share(args[1]).release());
  make_room(frame->f_frame);
  const int variables = frame->f_frame->f_code->co_nlocalsplus;
  for (int i = 0; i < variables && i < count - 3; ++i)
    if (args[i + 3] != args[2]) put_variable(frame->f_frame, i, args[i + 3]);
  return Ref::share(Py_None).release();
}

}  // namespace

ShownFramesScope::ShownFramesScope(Ref& own, std::span<Ref> inner) noexcept
    : own_(own), inner_(inner), outer_(std::exchange(innermost, this)) {}

ShownFramesScope::~ShownFramesScope() { innermost = outer_; }

Ref* ShownFramesScope::at(Py_ssize_t place) noexcept {
  if (!innermost || place < 0) return nullptr;
  if (place == 0) return &innermost->own_;
  const auto index = static_cast<size_t>(place) - 1;
  return index < innermost->inner_.size() ? &innermost->inner_[index] : nullptr;
}

PyObject* frame_maker() noexcept {
  static PyObject* const maker = function_object<make_frame>("make_frame");
  return maker;
}

PyObject* frame_filler() noexcept {
  static PyObject* const filler = function_object<fill_frame>("fill_frame");
  return filler;
}

Ref make_traceback(PyObject* next, PyCodeObject* code, PyObject* globals,
                   int unit) {
  const Ref frame = new_frame(code, globals);
  if (!frame) return nullptr;
  frame_object(frame)->f_frame->prev_instr = _PyCode_CODE(code) + unit;
  const int offset = byte_of(unit);
  return Ref::steal(PyObject_CallFunction(
      reinterpret_cast<PyObject*>(&PyTraceBack_Type), "OOii", next, frame.get(),
      offset, PyCode_Addr2Line(code, offset)));
}

void adopt(_PyInterpreterFrame* frame, PyObject* shown) noexcept {
  PyFrameObject* object = frame_object(shown);
  if (frame->frame_obj || !has_ended(object)) return;
  _PyInterpreterFrame* inside = object->f_frame;
  // What dies of it dies when it is consistent again.
  std::vector<Ref> gone;
  const auto take = [&gone](auto*& member) {
    gone.push_back(Ref::steal(
        reinterpret_cast<PyObject*>(std::exchange(member, nullptr))));
  };
  for (int i = 0; i < inside->stacktop; ++i) take(inside->localsplus[i]);
  take(inside->f_func);
  take(inside->f_code);
  take(object->f_back);
  frame->f_locals = std::exchange(inside->f_locals, nullptr);
  object->f_frame = frame;
  frame->frame_obj = frame_object(Ref::share(shown).release());
}

PyObject* seen_object(const _PyInterpreterFrame* frame) noexcept {
  auto* object = reinterpret_cast<PyObject*>(frame->frame_obj);
  return object && !is_held_only_here(object) ? object : nullptr;
}

void show_at(PyObject* shown, PyCodeObject* code, int unit) noexcept {
  PyFrameObject* object = frame_object(shown);
  if (!has_ended(object)) return;
  _PyInterpreterFrame* inside = object->f_frame;
  Ref old = Ref::steal(reinterpret_cast<PyObject*>(std::exchange(
      inside->f_code, BasicRef<PyCodeObject>::share(code).release())));
  inside->prev_instr = _PyCode_CODE(code) + unit;
}

void show_no_variables(Ref& shown) noexcept {
  if (!shown) return;
  if (is_held_only_here(shown)) {
    shown = nullptr;
    return;
  }
  PyFrameObject* object = frame_object(shown);
  if (!has_ended(object)) return;
  _PyInterpreterFrame* inside = object->f_frame;
  const int first_free =
      inside->f_code->co_nlocalsplus - inside->f_code->co_nfreevars;
  for (int i = 0; i < std::min(inside->stacktop, first_free); ++i)
    Py_CLEAR(inside->localsplus[i]);
}

void show_end(PyObject* shown, int unit, std::span<PyObject* const> values,
              std::span<PyObject* const> cells) noexcept {
  PyFrameObject* object = frame_object(shown);
  if (!has_ended(object)) return;
  link_to_caller(object);
  _PyInterpreterFrame* inside = object->f_frame;
  make_room(inside);
  inside->prev_instr = _PyCode_CODE(inside->f_code) + unit;
  const int variables = inside->f_code->co_nlocalsplus;
  const int first_free = variables - static_cast<int>(cells.size());
  for (int i = 0; i < variables; ++i)
    put_variable(inside, i,
                 i < first_free ? values[static_cast<size_t>(i)]
                                : cells[static_cast<size_t>(i - first_free)]);
}

}  // namespace magneto::python
