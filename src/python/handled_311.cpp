// SPDX-License-Identifier: BSD-3-Clause
// CPython 3.11: a thread has a stack of what is being handled, with one item
// for itself and one for each generator that it is in.
#include "python/handled.h"

#define Py_BUILD_CORE
#include <frameobject.h>
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include "python/function_object.h"

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030C0000
#error "handled_311.cpp knows the frames of CPython 3.11 only"
#endif

namespace magneto::python {

namespace {

// Whether frames of them have the same variables: also an island of a function
// has those of the function (codegen/island.h).
bool is_same_function(const PyCodeObject* a, const PyCodeObject* b) {
  const auto is_equal = [](PyObject* left, PyObject* right) {
    return left == right || PyObject_RichCompareBool(left, right, Py_EQ) == 1;
  };
  return a == b || (a->co_firstlineno == b->co_firstlineno &&
                    is_equal(a->co_filename, b->co_filename) &&
                    is_equal(a->co_qualname, b->co_qualname) &&
                    is_equal(a->co_localsplusnames, b->co_localsplusnames));
}

// make(code, globals, unit, handled)
PyObject* make_frame(PyObject*, PyObject* const* args,
                     Py_ssize_t count) noexcept {
  if (count != 4 || !PyCode_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "a frame is made of four parts");
    return nullptr;
  }
  auto* code = reinterpret_cast<PyCodeObject*>(args[0]);
  const auto unit = static_cast<int>(PyLong_AsLong(args[2]));
  if (PyExceptionInstance_Check(args[3])) {
    const Ref traceback = Ref::steal(PyException_GetTraceback(args[3]));
    PyFrameObject* shown = shown_frame(traceback, code);
    if (shown && shown->f_frame->f_code == code) {
      shown->f_frame->prev_instr = _PyCode_CODE(code) + unit;
      return Ref::share(reinterpret_cast<PyObject*>(shown)).release();
    }
  }
  return new_frame(code, args[1], unit).release();
}

// fill(frame, token, localsplus ...)
PyObject* fill_frame(PyObject*, PyObject* const* args,
                     Py_ssize_t count) noexcept {
  if (count < 2 || !PyFrame_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "a frame and a token are needed");
    return nullptr;
  }
  _PyInterpreterFrame* frame =
      reinterpret_cast<PyFrameObject*>(args[0])->f_frame;
  const PyCodeObject* code = frame->f_code;
  for (Py_ssize_t i = 0; i < code->co_nlocalsplus && i < count - 2; ++i) {
    PyObject* value = args[i + 2];
    const char kind = PyBytes_AS_STRING(code->co_localspluskinds)[i];
    const bool is_cell = (kind & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
    if (value == args[1] || (is_cell && !PyCell_Check(value))) continue;
    Ref old = Ref::steal(
        std::exchange(frame->localsplus[i], Ref::share(value).release()));
  }
  return Ref::share(Py_None).release();
}

}  // namespace

PyObject* handled_exception() noexcept {
  for (_PyErr_StackItem* item = PyThreadState_Get()->exc_info; item;
       item = item->previous_item)
    if (item->exc_value && item->exc_value != Py_None) return item->exc_value;
  return nullptr;
}

HandledScope::HandledScope() noexcept : item_(PyThreadState_Get()->exc_info) {}

void HandledScope::set(Ref exception) noexcept {
  if (!exception && !is_changed_) return;
  if (!is_changed_) {
    before_ = Ref::share(item_->exc_value);
    is_changed_ = true;
  }
  if (!exception) exception = before_.share();
  Ref old = Ref::steal(std::exchange(item_->exc_value, exception.release()));
}

HandledScope::~HandledScope() { set(nullptr); }

Ref new_frame(PyCodeObject* code, PyObject* globals, int unit) {
  Ref frame = Ref::steal(reinterpret_cast<PyObject*>(
      PyFrame_New(PyThreadState_Get(), code, globals, nullptr)));
  if (!frame) return nullptr;
  auto* inside = reinterpret_cast<PyFrameObject*>(frame.get())->f_frame;
  inside->prev_instr = _PyCode_CODE(code) + unit;
  // f_locals takes it that there are cells.
  for (int i = code->co_nlocalsplus - code->co_nfreevars;
       i < code->co_nlocalsplus; ++i) {
    inside->localsplus[i] = PyCell_New(nullptr);
    if (!inside->localsplus[i]) return nullptr;
  }
  return frame;
}

PyFrameObject* shown_frame(PyObject* traceback,
                           const PyCodeObject* code) noexcept {
  if (!traceback || !PyTraceBack_Check(traceback)) return nullptr;
  PyFrameObject* shown =
      reinterpret_cast<PyTracebackObject*>(traceback)->tb_frame;
  const bool has_ended = shown->f_frame->owner == FRAME_OWNED_BY_FRAME_OBJECT;
  return has_ended && is_same_function(shown->f_frame->f_code, code) ? shown
                                                                     : nullptr;
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
  const Ref frame = new_frame(code, globals, unit);
  if (!frame) return nullptr;
  const int offset = unit * static_cast<int>(sizeof(_Py_CODEUNIT));
  return Ref::steal(PyObject_CallFunction(
      reinterpret_cast<PyObject*>(&PyTraceBack_Type), "OOii", next, frame.get(),
      offset, PyCode_Addr2Line(code, offset)));
}

}  // namespace magneto::python
