// SPDX-License-Identifier: BSD-3-Clause
#include "graph/function_object.h"

#include <structmember.h>

#include <exception>
#include <memory>

namespace magneto::graph {

namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  GraphRunner* runner;  // owned
  PyObject* weak_references;
};

// Lives as long as the process: a type that objects may outlive can't be freed.
PyTypeObject* function_type = nullptr;

FunctionObject* cast(PyObject* self) {
  return reinterpret_cast<FunctionObject*>(self);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flags,
               PyObject* keywords) noexcept {
  try {
    const GraphRunner& runner = *cast(self)->runner;
    const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    if (keywords != nullptr && PyTuple_GET_SIZE(keywords) != 0) {
      PyErr_SetString(PyExc_TypeError,
                      "a captured graph takes its inputs by position only");
      return nullptr;
    }
    if (count != runner.input_count()) {
      PyErr_Format(PyExc_TypeError,
                   "this captured graph takes %zu inputs, but %zu were given",
                   runner.input_count(), count);
      return nullptr;
    }
    return runner.run(args).release();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  GraphRunner* runner = cast(self)->runner;
  if (runner == nullptr) return 0;
  return runner->visit_objects(
      [&](PyObject* object) { return visit(object, arg); });
}

int clear(PyObject* self) noexcept {
  if (cast(self)->runner != nullptr) cast(self)->runner->clear();
  return 0;
}

void deallocate(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (cast(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  delete cast(self)->runner;
  type->tp_free(self);
  Ref::steal(reinterpret_cast<PyObject*>(type));
}

PyObject* represent(PyObject* self) noexcept {
  return PyUnicode_FromFormat("<captured graph of %zu inputs>",
                              cast(self)->runner->input_count());
}

PyObject* get_name(PyObject*, void*) noexcept {
  return PyUnicode_InternFromString("forward");
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall),
     READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET,
     offsetof(FunctionObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>("Runs a captured graph. Takes the graph's inputs by "
                       "position, returns what the graph returns.")},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, nullptr}};

PyType_Spec spec = {
    "magneto._C.GraphFunction", sizeof(FunctionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    slots};

}  // namespace

bool init_function_type(PyObject* module) {
  if (function_type == nullptr) {
    function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (function_type == nullptr) return false;
  }
  return module == nullptr || PyModule_AddType(module, function_type) == 0;
}

Ref make_function(const Graph& graph, PyObject* callables) {
  MG_CHECK(function_type != nullptr, "init_function_type() must come first");
  auto runner = std::make_unique<GraphRunner>(graph, callables);
  if (!runner->ok()) return nullptr;
  Ref self = Ref::steal(function_type->tp_alloc(function_type, 0));
  if (!self) return nullptr;
  cast(self.get())->vectorcall = call;
  cast(self.get())->runner = runner.release();
  return self;
}

const GraphRunner* runner_of(PyObject* object) {
  if (function_type == nullptr || Py_TYPE(object) != function_type) {
    return nullptr;
  }
  return cast(object)->runner;
}

}  // namespace magneto::graph
