// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/module_call.h"

#include <structmember.h>

#include "tensor/ambient.h"

namespace magneto::entry {
namespace {

struct ModuleCall {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* slow;
};

ModuleCall* cast(PyObject* object) {
  return reinterpret_cast<ModuleCall*>(object);
}

// Interned strings, which live as long as the process.
struct AttributeNames {
  PyObject* forward = PyUnicode_InternFromString("forward");
  PyObject* hooks[4] = {
      PyUnicode_InternFromString("_forward_hooks"),
      PyUnicode_InternFromString("_forward_pre_hooks"),
      PyUnicode_InternFromString("_backward_hooks"),
      PyUnicode_InternFromString("_backward_pre_hooks"),
  };
};

const AttributeNames& attribute_names() {
  static const AttributeNames names;
  return names;
}

bool has_hooks(PyObject* dict) {
  for (PyObject* name : attribute_names().hooks) {
    PyObject* hooks = PyDict_GetItemWithError(dict, name);
    if (hooks && PyDict_Check(hooks) && PyDict_GET_SIZE(hooks) > 0) return true;
  }
  return false;
}

// args[0] is the module.
PyObject* call(PyObject* object, PyObject* const* args, size_t nargsf,
               PyObject* names) noexcept {
  const auto nargs = PyVectorcall_NARGS(nargsf);
  if (nargs == 0) {
    PyErr_SetString(PyExc_TypeError, "__call__ needs a module");
    return nullptr;
  }
  Ref dict = Ref::steal(PyObject_GenericGetDict(args[0], nullptr));
  if (!dict) return nullptr;
  PyObject* found = PyDict_GetItemWithError(dict, attribute_names().forward);
  if (!found || has_hooks(dict) || tensor::is_jit_tracing())
    return PyErr_Occurred()
               ? nullptr
               : PyObject_Vectorcall(cast(object)->slow, args, nargsf, names);
  Ref forward = Ref::share(found);
  return PyObject_Vectorcall(
      forward, args + 1,
      static_cast<size_t>(nargs - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

PyObject* create(PyTypeObject* type, PyObject* args,
                 PyObject* keywords) noexcept {
  static const char* const names[] = {"slow", nullptr};
  PyObject* slow = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:ModuleCall",
                                   const_cast<char**>(names), &slow)) {
    return nullptr;
  }
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) return nullptr;
  cast(object)->vectorcall = call;
  cast(object)->slow = Ref::share(slow).release();
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(cast(object)->slow);
  return 0;
}

void dealloc(PyObject* object) noexcept {
  Ref type = Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  PyObject_GC_UnTrack(object);
  Py_CLEAR(cast(object)->slow);
  Py_TYPE(object)->tp_free(object);
}

PyObject* bind_to(PyObject* object, PyObject* instance, PyObject*) noexcept {
  if (instance == nullptr || instance == Py_None)
    return Ref::share(object).release();
  return PyMethod_New(object, instance);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ModuleCall, vectorcall),
     READONLY},
    {nullptr},
};

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

bool init_module_call_type(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, slot(create)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_descr_get, slot(bind_to)},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>("ModuleCall(slow)\n--\n\n"
                                    "The __call__ of compiled modules.")},
      {0, nullptr},
  };
  static PyType_Spec spec = {"magneto._C.ModuleCall", sizeof(ModuleCall), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR,
                             slots};
  Ref type = Ref::steal(PyType_FromSpec(&spec));
  return type && PyModule_AddType(
                     module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

}  // namespace magneto::entry
