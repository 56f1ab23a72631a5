// SPDX-License-Identifier: BSD-3-Clause
#include "entry/register.h"

#include "entry/cache.h"
#include "entry/callable/compiled_function.h"
#include "entry/callable/disabled_function.h"
#include "entry/callable/module_call.h"
#include "entry/callable/settings.h"
#include "entry/callable/stance.h"
#include "entry/driver.h"
#include "entry/frame_rules.h"
#include "entry/frames.h"
#include "entry/report/counters.h"
#include "entry/report/report.h"
#include "python/frame.h"
#include "values/model/reasons.h"

namespace magneto::entry {
namespace {

PyObject* py_set_observer(PyObject*, PyObject* args) noexcept {
  PyObject* observer = nullptr;
  int wants_traces = 0;
  if (!PyArg_ParseTuple(args, "O|p:set_observer", &observer, &wants_traces))
    return nullptr;
  if (observer != Py_None && !PyCallable_Check(observer)) {
    PyErr_SetString(PyExc_TypeError, "an observer is a callable or None");
    return nullptr;
  }
  set_observer(observer, wants_traces != 0);
  Py_RETURN_NONE;
}

PyObject* py_reset(PyObject*, PyObject*) noexcept {
  CodeRecord::reset_all();
  Py_RETURN_NONE;
}

PyObject* py_is_compiling(PyObject*, PyObject*) noexcept {
  return PyBool_FromLong(is_compiling());
}

// In one whose calls are looked at: not in what it has disabled.
PyObject* py_is_in_compiled_function(PyObject*, PyObject*) noexcept {
  return PyBool_FromLong(active_settings() && python::frames_are_looked_at());
}

PyObject* py_set_stance(PyObject*, PyObject* name) noexcept {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (PyErr_Occurred()) return nullptr;
  const std::optional<Stance> named =
      text ? stance_named(text) : std::optional<Stance>();
  if (!named) {
    PyErr_Format(PyExc_ValueError, "there is no stance %R", name);
    return nullptr;
  }
  stance = *named;
  Py_RETURN_NONE;
}

PyObject* py_set_frame_rules(PyObject*, PyObject* rules) noexcept {
  if (!PyDict_Check(rules)) {
    PyErr_SetString(PyExc_TypeError, "set_frame_rules() takes a dict");
    return nullptr;
  }
  if (!set_frame_rules(rules)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* py_skip_code(PyObject*, PyObject* code) noexcept {
  if (!PyCode_Check(code)) {
    PyErr_SetString(PyExc_TypeError, "skip_code() takes a code object");
    return nullptr;
  }
  python::set_frame_action(reinterpret_cast<PyCodeObject*>(code),
                           python::FrameAction::Evaluate);
  Py_RETURN_NONE;
}

PyObject* py_counters(PyObject*, PyObject*) noexcept {
  const Counters& c = counters();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "compilations",
                       c.compilations, "graphs", c.graphs, "graph_breaks",
                       c.graph_breaks, "recompiles", c.recompiles, "skips",
                       c.skips, "internal_errors", c.internal_errors);
}

PyObject* py_break_reasons(PyObject*, PyObject*) noexcept {
  Ref list = Ref::steal(PyList_New(0));
  for (const values::Reason::Definition& reason :
       std::span(values::Reason::kDefinitions).subspan(1)) {
    Ref item = Ref::steal(
        Py_BuildValue("(sss)", reason.id, reason.meaning, reason.hint));
    if (!list || !item || PyList_Append(list, item) != 0) return nullptr;
  }
  return list.release();
}

PyMethodDef functions[] = {
    {"set_observer", py_set_observer, METH_VARARGS,
     "set_observer(observer, wants_traces=False, /)\n--\n\nobserver(kind, "
     "id, details) hears of every compilation, and of what "
     "traces do while they do it if it wants to; None: nobody does."},
    {"break_reasons", py_break_reasons, METH_NOARGS,
     "break_reasons()\n--\n\nEach reason to break a graph: (id, what it "
     "means, what to do)."},
    {"reset", py_reset, METH_NOARGS,
     "reset()\n--\n\nForgets everything that was compiled."},
    {"is_compiling", py_is_compiling, METH_NOARGS,
     "is_compiling()\n--\n\nTrue while this thread compiles."},
    {"is_in_compiled_function", py_is_in_compiled_function, METH_NOARGS,
     "is_in_compiled_function()\n--\n\nTrue where a compiled function runs in "
     "plain Python, at a graph break."},
    {"set_stance", py_set_stance, METH_O,
     "set_stance(name, /)\n--\n\nWhat the process does with compiled "
     "functions from now on."},
    {"counters", py_counters, METH_NOARGS,
     "counters()\n--\n\nHow often what happened, since the process began."},
    {"set_frame_rules", py_set_frame_rules, METH_O,
     "set_frame_rules(rules, /)\n--\n\nTakes the table of magneto.frames: "
     "paths, and what to do with frames of code that is there."},
    {"skip_code", py_skip_code, METH_O,
     "skip_code(code, /)\n--\n\nFrames of this code object are never compiled "
     "by themselves."},
    {nullptr},
};

}  // namespace

bool register_entry(PyObject* module) {
  if (!init_settings_type(module) || !init_compiled_function_type(module) ||
      !init_disabled_function_type(module) || !init_module_call_type(module) ||
      PyModule_AddFunctions(module, functions) != 0) {
    return false;
  }
  install_frame_handlers();
  return true;
}

}  // namespace magneto::entry
