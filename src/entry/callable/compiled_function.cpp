// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/compiled_function.h"

#include <exception>
#include <optional>

#include "entry/callable/binding.h"
#include "entry/callable/callable_object.h"
#include "entry/callable/stance.h"
#include "entry/compiler.h"
#include "entry/driver.h"
#include "entry/report/report.h"
#include "python/find.h"
#include "support/check.h"
#include "tensor/fake_tensor.h"

namespace magneto::entry {
namespace {

struct CompiledFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* target;            // what was compiled: a function or a method
  PyFunctionObject* function;  // owned
  PyObject* self;              // the method's; owned, may be null
  Settings* settings;          // owned
  PyObject* backend;           // owned: see Settings::backend
  PyObject* anchor;            // a code object, owned; null: the function's own
  // Of the code that the function had when it was last called. Lives in the
  // record of the anchor or of that code.
  CodeCache* cache;
  PyCodeObject* cached_code;  // owned
  PyObject* dict;
  PyObject* weakrefs;
};

// Lives as long as the process: instances may outlive the module.
PyTypeObject* compiled_function_type = nullptr;

CompiledFunction* cast(PyObject* object) {
  return reinterpret_cast<CompiledFunction*>(object);
}

// The code object that is compiled, or null if there is nothing to compile.
PyCodeObject* code_to_compile(CompiledFunction* self) {
  auto* code = reinterpret_cast<PyCodeObject*>(self->function->func_code);
  constexpr int kSuspendable =
      CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  return (code->co_flags & kSuspendable) ? nullptr : code;
}

// Throws InternalError.
CodeCache& cache_of(CompiledFunction* self, PyCodeObject* code) {
  if (self->cached_code == code) return *self->cache;
  auto* anchor =
      self->anchor ? reinterpret_cast<PyCodeObject*>(self->anchor) : code;
  self->cache = &CodeRecord::of(anchor).cache(self->settings, {.code = code});
  Ref old = Ref::steal(reinterpret_cast<PyObject*>(std::exchange(
      self->cached_code, BasicRef<PyCodeObject>::share(code).release())));
  return *self->cache;
}

PyObject* call_target(CompiledFunction* self, PyObject* const* args,
                      size_t nargsf, PyObject* names) {
  ActiveScope active(self->settings);
  if (!self->self)
    return python::call_plainly(reinterpret_cast<PyObject*>(self->function),
                                args, nargsf, names);
  const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  const size_t total =
      nargs + (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0);
  FrameValues all(total + 1);
  all.put(0, Ref::share(self->self));
  for (size_t i = 0; i < total; ++i) all.put(i + 1, Ref::share(args[i]));
  return python::call_plainly(reinterpret_cast<PyObject*>(self->function),
                              all.span().data(), nargs + 1, names);
}

// fullgraph=True, and the function is a generator's or a coroutine's.
PyObject* refuse_suspendable(CompiledFunction* self) {
  auto* code = reinterpret_cast<PyCodeObject*>(self->function->func_code);
  Details details;
  details
      .add_break(
          {"generator-function", "a generator or coroutine function", ""})
      .add("fullgraph", Py_True)
      .add_place(code, 0);
  (void)tell_user("unsupported", details);
  return nullptr;
}

// Null with a Python error set.
Ref in_place_of(PyObject* object) {
  Ref module = import_module("magneto.stances");
  return Ref::steal(
      module ? PyObject_CallMethod(module, "in_place_of", "O", object)
             : nullptr);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t nargsf,
               PyObject* names) noexcept {
  if (stance == Stance::InPlace) [[unlikely]] {
    Ref other = in_place_of(object);
    if (!other) return nullptr;
    if (other.get() != object)
      return PyObject_Vectorcall(other, args, nargsf, names);
  }
  CompiledFunction* self = cast(object);
  // Whoever drops the last reference meanwhile must not pull these away.
  Ref hold = Ref::share(object);
  PyCodeObject* code = code_to_compile(self);
  // A signal's handler, say, in the middle of a trace, whose tensors are fake.
  std::optional<tensor::RealModeScope> real;
  if (is_compiling()) real.emplace();
  try {
    Ran ran = Ran::Plain;
    BoundArguments arguments;
    if (code && arguments.bind(self->function, self->self, args,
                               static_cast<size_t>(PyVectorcall_NARGS(nargsf)),
                               names)) {
      PyObject* closure = self->function->func_closure;
      python::FrameRequest request;
      request.code = code;
      request.globals = self->function->func_globals;
      request.builtins = self->function->func_builtins;
      if (closure)
        request.cells = {&PyTuple_GET_ITEM(closure, 0),
                         static_cast<size_t>(PyTuple_GET_SIZE(closure))};
      request.values = arguments.values();
      PyObject* result = nullptr;
      ran = run_frame(cache_of(self, code), request, Wanted::ByUser, &result);
      if (ran == Ran::Done) return result;
    }
    if (self->settings->fullgraph && !code) return refuse_suspendable(self);
    if (self->settings->fullgraph || ran == Ran::Left) {
      // An exception leaves the function, say. A part of what it calls would
      // not be the full graph: it is left alone.
      python::FrameHookScope pause(false);
      return PyObject_Vectorcall(self->target, args, nargsf, names);
    }
    return call_target(self, args, nargsf, names);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
    return nullptr;
  }
}

// -- the type -----------------------------------------------------------------

PyObject* create(PyTypeObject* type, PyObject* args,
                 PyObject* keywords) noexcept {
  static const char* const names[] = {"function", "settings", "anchor",
                                      nullptr};
  PyObject *target = nullptr, *settings = nullptr, *anchor = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|O:CompiledFunction",
                                   const_cast<char**>(names), &target,
                                   &settings, &anchor)) {
    return nullptr;
  }
  const bool is_method = PyMethod_Check(target);
  PyObject* function = is_method ? PyMethod_GET_FUNCTION(target) : target;
  if (!PyFunction_Check(function)) {
    PyErr_Format(PyExc_TypeError, "a Python function is needed, not %.200s",
                 Py_TYPE(function)->tp_name);
    return nullptr;
  }
  if (!is_settings(settings) || (anchor != Py_None && !PyCode_Check(anchor))) {
    PyErr_SetString(PyExc_TypeError,
                    "settings must be a Settings, anchor a code object");
    return nullptr;
  }
  Ref backend = backend_of(reinterpret_cast<Settings*>(settings));
  if (!backend) {
    PyErr_SetString(PyExc_ReferenceError, "the settings' backend is gone");
    return nullptr;
  }
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) return nullptr;
  CompiledFunction* self = cast(object);
  self->vectorcall = call;
  self->target = Ref::share(target).release();
  self->function = BasicRef<PyFunctionObject>::share(
                       reinterpret_cast<PyFunctionObject*>(function))
                       .release();
  if (is_method) self->self = Ref::share(PyMethod_GET_SELF(target)).release();
  self->settings =
      BasicRef<Settings>::share(reinterpret_cast<Settings*>(settings))
          .release();
  self->backend = backend.release();
  if (anchor != Py_None) self->anchor = Ref::share(anchor).release();
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) noexcept {
  CompiledFunction* self = cast(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->target);
  Py_VISIT(self->function);
  Py_VISIT(self->self);
  Py_VISIT(self->settings);
  Py_VISIT(self->backend);
  Py_VISIT(self->anchor);
  Py_VISIT(self->cached_code);
  Py_VISIT(self->dict);
  return 0;
}

int clear(PyObject* object) noexcept {
  Py_CLEAR(cast(object)->dict);
  return 0;
}

void dealloc(PyObject* object) noexcept {
  CompiledFunction* self = cast(object);
  Ref type = Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  PyObject_GC_UnTrack(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->target);
  Py_CLEAR(self->self);
  // The settings first: their caches hang on the code objects.
  Py_CLEAR(self->settings);
  Py_CLEAR(self->backend);
  Py_CLEAR(self->anchor);
  Py_CLEAR(self->cached_code);
  Py_CLEAR(self->function);
  Py_TYPE(object)->tp_free(object);
}

PyObject* repr(PyObject* object) noexcept {
  return PyUnicode_FromFormat("<compiled %R>", cast(object)->target);
}

// Attributes of the function that people read from what they compiled.
PyObject* get_function_attribute(PyObject* object, void* name) noexcept {
  return PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(cast(object)->function),
      static_cast<const char*>(name));
}

char* name_of(const char* text) { return const_cast<char*>(text); }

PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict},
    {"__code__", get_function_attribute, nullptr, nullptr, name_of("__code__")},
    {"__defaults__", get_function_attribute, nullptr, nullptr,
     name_of("__defaults__")},
    {"__kwdefaults__", get_function_attribute, nullptr, nullptr,
     name_of("__kwdefaults__")},
    {"__globals__", get_function_attribute, nullptr, nullptr,
     name_of("__globals__")},
    {"__closure__", get_function_attribute, nullptr, nullptr,
     name_of("__closure__")},
    {nullptr},
};

PyMemberDef members[] = {
    kVectorcallMember<CompiledFunction>,
    kDictMember<CompiledFunction>,
    kWeakrefsMember<CompiledFunction>,
    {"target", T_OBJECT, offsetof(CompiledFunction, target), READONLY,
     "What was compiled: a function or a bound method."},
    {"anchor", T_OBJECT, offsetof(CompiledFunction, anchor), READONLY,
     "The code object that keeps what is compiled; None: the function's own."},
    {"settings", T_OBJECT, offsetof(CompiledFunction, settings), READONLY,
     "The Settings it was compiled with."},
    {nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce_by_name, METH_NOARGS, nullptr},
    {nullptr},
};

}  // namespace

bool init_compiled_function_type(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, slot(create)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_clear, slot(clear)},
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_descr_get, slot(bind_to)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_getset, getset},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>(
                      "CompiledFunction(function, settings, anchor=None)\n--\n"
                      "\nA function whose calls are compiled.")},
      {0, nullptr},
  };
  static PyType_Spec spec = {"magneto._C.CompiledFunction",
                             sizeof(CompiledFunction), 0, kCallableFlags,
                             slots};
  compiled_function_type =
      reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return compiled_function_type &&
         (!module || PyModule_AddType(module, compiled_function_type) == 0);
}

bool is_compiled_function(PyObject* object) noexcept {
  return Py_IS_TYPE(object, compiled_function_type);
}

PyObject* compiled_function_target(PyObject* object) noexcept {
  return cast(object)->target;
}

}  // namespace magneto::entry
