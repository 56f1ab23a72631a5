// SPDX-License-Identifier: BSD-3-Clause
// `magneto_graph_test`: records graphs from Python, so that pytest can test
// what is made from them without a tracer.
//
//   x = Ref(placeholder(graph, "L['x']", ...))   # Ref is a subclass of int
#include <exception>
#include <memory>
#include <stdexcept>

#include "graph/function_object.h"
#include "graph/graph.h"
#include "graph/passes/passes.h"
#include "graph/python_handle.h"
#include "graph/verify.h"

namespace magneto::graph {
namespace {

constexpr const char* kCapsule = "magneto_graph_test.graph";

struct PythonError {};

Graph& graph_in(PyObject* capsule) {
  auto* graph = static_cast<Graph*>(PyCapsule_GetPointer(capsule, kCapsule));
  if (graph == nullptr) throw PythonError();
  return *graph;
}

Ref checked(Ref object) {
  if (!object) throw PythonError();
  return object;
}

// Nodes are instances of the class `Ref`, a subclass of int in this module.
PyObject* node_class = nullptr;

Arg to_arg(Graph& graph, PyObject* value);

std::vector<Arg> to_args(Graph& graph, PyObject* sequence) {
  std::vector<Arg> args;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    args.push_back(to_arg(graph, PySequence_Fast_GET_ITEM(sequence, i)));
  }
  return args;
}

Arg to_arg(Graph& graph, PyObject* value) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(value)) == node_class) {
    return Arg(NodeId{PyLong_AsSize_t(value)});
  }
  if (PyTuple_CheckExact(value)) return graph.tuple(to_args(graph, value));
  if (PyList_CheckExact(value)) return graph.list(to_args(graph, value));
  if (PySlice_Check(value)) {
    auto* slice = reinterpret_cast<PySliceObject*>(value);
    return graph.slice(to_arg(graph, slice->start), to_arg(graph, slice->stop),
                       to_arg(graph, slice->step));
  }
  if (PyDict_CheckExact(value)) {
    std::vector<Arg> items;
    PyObject* key = nullptr;
    PyObject* item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item) != 0;) {
      items.push_back(to_arg(graph, key));
      items.push_back(to_arg(graph, item));
    }
    return graph.dict(items);
  }
  return graph.constant(value);
}

Ref example_of(PyObject* value) {
  return value == Py_None ? Ref(nullptr) : Ref::share(value);
}

PyObject* as_node(NodeId id) {
  return PyObject_CallFunction(node_class, "k",
                               static_cast<unsigned long>(id.index));
}

template <class Body>
PyObject* guarded(Body body) noexcept {
  try {
    return body();
  } catch (const PythonError&) {
    return nullptr;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* new_graph(PyObject*, PyObject*) noexcept {
  return PyCapsule_New(new Graph(), kCapsule, [](PyObject* capsule) {
    delete static_cast<Graph*>(PyCapsule_GetPointer(capsule, kCapsule));
  });
}

// placeholder(graph, source_name, example, kind, attribute_path, origin)
PyObject* placeholder(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject* capsule = nullptr;
    PyObject* example = nullptr;
    const char* name = nullptr;
    const char* path = nullptr;
    int kind = 0;
    int location = 0;
    int scope = 0;
    if (PyArg_ParseTuple(args, "OsOis(ii)", &capsule, &name, &example, &kind,
                         &path, &location, &scope) == 0) {
      return nullptr;
    }
    Graph& graph = graph_in(capsule);
    Origin origin;
    if (location >= 0) origin.location = LocationId(location);
    if (scope >= 0) origin.scope = ScopeId(scope);
    return as_node(graph.placeholder(
        {.source = static_cast<uint32_t>(graph.inputs().size()),
         .source_name = name,
         .attribute_path = path,
         .kind = static_cast<InputKind>(kind)},
        example_of(example), origin));
  });
}

// call(graph, target, args, kwargs, example, (location, scope))
PyObject* call(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject* capsule = nullptr;
    PyObject* target = nullptr;
    PyObject* operands = nullptr;
    PyObject* keywords = nullptr;
    PyObject* example = nullptr;
    int location = 0;
    int scope = 0;
    if (PyArg_ParseTuple(args, "OOO!O!O(ii)", &capsule, &target, &PyTuple_Type,
                         &operands, &PyDict_Type, &keywords, &example,
                         &location, &scope) == 0) {
      return nullptr;
    }
    Graph& graph = graph_in(capsule);
    const std::vector<Arg> list = to_args(graph, operands);
    std::vector<Keyword> named;
    PyObject* key = nullptr;
    PyObject* item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, &key, &item) != 0;) {
      named.push_back({key, to_arg(graph, item)});
    }
    Origin origin;
    if (location >= 0) origin.location = LocationId(location);
    if (scope >= 0) origin.scope = ScopeId(scope);
    return as_node(PyUnicode_Check(target)
                       ? graph.call_method(target, list, named,
                                           example_of(example), origin)
                       : graph.call_function(target, list, named,
                                             example_of(example), origin));
  });
}

// get_attr(graph, name, value)
PyObject* get_attr(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject* capsule = nullptr;
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    if (PyArg_ParseTuple(args, "OUO", &capsule, &name, &value) == 0) {
      return nullptr;
    }
    return as_node(graph_in(capsule).get_attr(name, value, Ref::share(value)));
  });
}

// hint(graph, node, name)
PyObject* hint(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject* capsule = nullptr;
    PyObject* name = nullptr;
    Py_ssize_t node = 0;
    if (PyArg_ParseTuple(args, "OnU", &capsule, &node, &name) == 0) {
      return nullptr;
    }
    graph_in(capsule).set_name_hint(NodeId(node), name);
    return Ref::share(Py_None).release();
  });
}

// location(graph, code, instruction, caller or -1)
PyObject* location(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject* capsule = nullptr;
    PyObject* code = nullptr;
    int instruction = 0;
    int caller = 0;
    if (PyArg_ParseTuple(args, "OO!ii", &capsule, &PyCode_Type, &code,
                         &instruction, &caller) == 0) {
      return nullptr;
    }
    return PyLong_FromUnsignedLong(
        graph_in(capsule)
            .location(reinterpret_cast<PyCodeObject*>(code), instruction,
                      caller < 0 ? LocationId{} : LocationId(caller))
            .index);
  });
}

// scope(graph, module, path, outer or -1)
PyObject* scope(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject* capsule = nullptr;
    PyObject* module = nullptr;
    const char* path = nullptr;
    int outer = 0;
    if (PyArg_ParseTuple(args, "OOsi", &capsule, &module, &path, &outer) == 0) {
      return nullptr;
    }
    return PyLong_FromUnsignedLong(
        graph_in(capsule)
            .scope(module, path, Py_TYPE(module),
                   outer < 0 ? ScopeId{} : ScopeId(outer))
            .index);
  });
}

// finish(graph, output, grad_enabled): the handle; the capsule is empty then.
PyObject* finish(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject* capsule = nullptr;
    PyObject* output = nullptr;
    int grad_enabled = 1;
    if (PyArg_ParseTuple(args, "OOp", &capsule, &output, &grad_enabled) == 0) {
      return nullptr;
    }
    std::unique_ptr<Graph> graph(&graph_in(capsule));
    PyCapsule_SetDestructor(capsule, nullptr);
    PyCapsule_SetName(capsule, "finished");
    graph->output(to_arg(*graph, output));
    graph->seal();
    clean_up(*graph, grad_enabled != 0);
    const std::string problem = verify(*graph);
    if (!problem.empty()) throw std::runtime_error(problem);
    return checked(make_handle(std::move(graph))).release();
  });
}

PyMethodDef methods[] = {{"new_graph", new_graph, METH_NOARGS, nullptr},
                         {"placeholder", placeholder, METH_VARARGS, nullptr},
                         {"call", call, METH_VARARGS, nullptr},
                         {"get_attr", get_attr, METH_VARARGS, nullptr},
                         {"hint", hint, METH_VARARGS, nullptr},
                         {"location", location, METH_VARARGS, nullptr},
                         {"scope", scope, METH_VARARGS, nullptr},
                         {"finish", finish, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "magneto_graph_test", nullptr,
                          -1, methods};

}  // namespace
}  // namespace magneto::graph

PyMODINIT_FUNC PyInit_magneto_graph_test() {
  using namespace magneto::graph;
  using magneto::Ref;
  Ref module = Ref::steal(PyModule_Create(&definition));
  if (!module || !init_types(module)) return nullptr;
  node_class = PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type),
                                     "s(O){}", "Ref", &PyLong_Type);
  if (node_class == nullptr ||
      PyModule_AddObjectRef(module, "Ref", node_class) < 0) {
    return nullptr;
  }
  return module.release();
}
