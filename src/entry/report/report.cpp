// SPDX-License-Identifier: BSD-3-Clause
#include "entry/report/report.h"

#include "python/code_object.h"
#include "python/find.h"

namespace magneto::entry {
namespace {

// Owned; lives until it is replaced.
PyObject* current_observer = nullptr;
bool observer_wants_traces = false;

Ref attribute_of(const char* module_name, const char* name) {
  Ref module = import_module(module_name);
  return Ref::steal(module ? PyObject_GetAttrString(module, name) : nullptr);
}

Ref text_object(const std::string& text) {
  return Ref::steal(PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// A pending call: it raises KeyboardInterrupt where the main thread runs Python
// next. Unlike a signal, it doesn't call the program's handler of SIGINT.
int raise_interrupt(void*) {
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  return -1;
}

}  // namespace

bool is_observed() noexcept { return current_observer != nullptr; }

bool is_trace_observed() noexcept { return observer_wants_traces; }

void set_observer(PyObject* observer, bool wants_traces) noexcept {
  observer_wants_traces = wants_traces && observer != Py_None;
  Ref old = Ref::steal(std::exchange(
      current_observer,
      observer == Py_None ? nullptr : Ref::share(observer).release()));
}

namespace {

Ref setting(const char* name) {
  Ref value_of = attribute_of("magneto.heard_settings", "value");
  return Ref::steal(value_of ? PyObject_CallFunction(value_of, "s", name)
                             : nullptr);
}

}  // namespace

int64_t config_number(const char* name, int64_t otherwise) {
  Ref value = setting(name);
  const int64_t number = value ? PyLong_AsLongLong(value) : -1;
  if (!PyErr_Occurred()) return number;
  PyErr_Clear();
  return otherwise;
}

bool config_flag(const char* name) {
  Ref value = setting(name);
  const int truth = value ? PyObject_IsTrue(value) : -1;
  if (truth < 0) PyErr_Clear();
  return truth > 0;
}

Ref config_functions(const char* name) {
  Ref functions = setting(name);
  const Py_ssize_t count = functions ? PyObject_Size(functions) : -1;
  if (count < 0) PyErr_Clear();
  return count > 0 ? std::move(functions) : nullptr;
}

Details& Details::add(const char* key, PyObject* object) {
  if (!object || !dict_ || PyDict_SetItemString(dict_, key, object) != 0)
    PyErr_Clear();
  return *this;
}

Details& Details::add(const char* key, const std::string& text) {
  Ref object = text_object(text);
  return add(key, object.get());
}

Details& Details::add(const char* key, int64_t number) {
  Ref object = Ref::steal(PyLong_FromLongLong(number));
  return add(key, object.get());
}

Details& Details::add(const char* key, const std::vector<std::string>& lines) {
  Ref list = Ref::steal(PyList_New(0));
  for (const std::string& line : lines) {
    Ref text = text_object(line);
    if (!list || !text || PyList_Append(list, text) != 0) PyErr_Clear();
  }
  return add(key, list.get());
}

namespace {

// Instructions that CPython adds (where a handler begins) have no line; then it
// is that of the code before them.
int64_t line_of(const bytecode::Code& code, int32_t instruction) {
  for (; instruction >= 0; --instruction)
    if (const int32_t line = code.position(instruction).line; line > 0)
      return line;
  return code.first_line;
}

}  // namespace

Details& Details::add_place(PyCodeObject* code, int32_t instruction) {
  add("function", code->co_qualname);
  add("filename", code->co_filename);
  return add("line", line_of(python::decoded(code), instruction));
}

Ref stack_object(std::span<const values::FrameSummary> stack) {
  Ref list = Ref::steal(PyList_New(0));
  for (const values::FrameSummary& frame : stack) {
    Ref file = text_object(frame.file), function = text_object(frame.function);
    Ref tuple =
        Ref::steal(file && function ? Py_BuildValue("(OiO)", file.get(),
                                                    frame.line, function.get())
                                    : nullptr);
    if (!list || !tuple || PyList_Append(list, tuple) != 0) return nullptr;
  }
  return list;
}

Details& Details::add_break(const values::BreakInfo& info) {
  const values::Reason::Definition& reason = info.reason.definition();
  const Ref stack = stack_object(info.stack);
  return add("reason", std::string(reason.id))
      .add("meaning", std::string(reason.meaning))
      .add("detail", info.detail)
      .add("hint", info.hint.empty() ? std::string(reason.hint) : info.hint)
      .add("stack", stack.get());
}

void report(const char* kind, const CodeCache& cache, const Details& details) {
  if (!current_observer) return;
  Ref observer = Ref::share(current_observer);
  Ref id = Ref::steal(
      cache.restarts == 0
          ? PyUnicode_FromFormat("%d/%d", cache.frame_id, cache.compilations)
          : PyUnicode_FromFormat("%d/%d_%d", cache.frame_id, cache.compilations,
                                 cache.restarts));
  Ref result = Ref::steal(id ? PyObject_CallFunction(observer, "sOO", kind,
                                                     id.get(), details.dict())
                             : nullptr);
  if (result) return;
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_Clear();
    Py_AddPendingCall(raise_interrupt, nullptr);
    return;
  }
  PyErr_WriteUnraisable(observer);
}

bool tell_user(const char* function, const Details& details) {
  Ref callable = attribute_of("magneto.reports", function);
  Ref result = Ref::steal(
      callable ? PyObject_CallOneArg(callable, details.dict()) : nullptr);
  if (!result) return false;
  if (result.get() == Py_None) return true;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(result.get())), result);
  return false;
}

}  // namespace magneto::entry
