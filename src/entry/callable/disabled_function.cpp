// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/disabled_function.h"

#include <optional>

#include "entry/callable/callable_object.h"
#include "python/frame.h"

namespace magneto::entry {
namespace {

struct DisabledFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* target;
  bool pauses;  // what it calls isn't compiled either
  PyObject* dict;
  PyObject* weakrefs;
};

// Lives as long as the process: instances may outlive the module.
PyTypeObject* disabled_function_type = nullptr;

DisabledFunction* cast(PyObject* object) {
  return reinterpret_cast<DisabledFunction*>(object);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t nargsf,
               PyObject* names) noexcept {
  Ref target = Ref::share(cast(object)->target);
  std::optional<python::FrameHookScope> pause;
  if (cast(object)->pauses) pause.emplace(false);
  return PyObject_Vectorcall(target, args, nargsf, names);
}

PyObject* create(PyTypeObject* type, PyObject* args,
                 PyObject* keywords) noexcept {
  static const char* const names[] = {"function", "recursive", nullptr};
  PyObject* target = nullptr;
  int recursive = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p:DisabledFunction",
                                   const_cast<char**>(names), &target,
                                   &recursive)) {
    return nullptr;
  }
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) return nullptr;
  cast(object)->vectorcall = call;
  cast(object)->target = Ref::share(target).release();
  cast(object)->pauses = recursive != 0;
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(cast(object)->target);
  Py_VISIT(cast(object)->dict);
  return 0;
}

int clear(PyObject* object) noexcept {
  Py_CLEAR(cast(object)->dict);
  return 0;
}

void dealloc(PyObject* object) noexcept {
  Ref type = Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  PyObject_GC_UnTrack(object);
  if (cast(object)->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(cast(object)->dict);
  Py_CLEAR(cast(object)->target);
  Py_TYPE(object)->tp_free(object);
}

PyObject* repr(PyObject* object) noexcept {
  return PyUnicode_FromFormat("<disabled %R>", cast(object)->target);
}

PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict},
    {nullptr},
};

PyMemberDef members[] = {
    kVectorcallMember<DisabledFunction>,
    kDictMember<DisabledFunction>,
    kWeakrefsMember<DisabledFunction>,
    {"target", T_OBJECT, offsetof(DisabledFunction, target), READONLY,
     "What is called."},
    {"recursive", T_BOOL, offsetof(DisabledFunction, pauses), READONLY,
     "Whether what it calls isn't compiled either."},
    {nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce_by_name, METH_NOARGS, nullptr},
    {nullptr},
};

}  // namespace

bool init_disabled_function_type(PyObject* module) {
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
      {Py_tp_doc,
       const_cast<char*>("DisabledFunction(function, recursive=True)\n--\n\n"
                         "A callable that is never compiled.")},
      {0, nullptr},
  };
  static PyType_Spec spec = {"magneto._C.DisabledFunction",
                             sizeof(DisabledFunction), 0, kCallableFlags,
                             slots};
  disabled_function_type =
      reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return disabled_function_type &&
         (!module || PyModule_AddType(module, disabled_function_type) == 0);
}

bool is_disabled_function(PyObject* object) noexcept {
  return Py_IS_TYPE(object, disabled_function_type);
}

}  // namespace magneto::entry
