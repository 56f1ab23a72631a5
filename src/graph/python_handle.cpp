// SPDX-License-Identifier: BSD-3-Clause
// Methods return plain tuples: they are read by one file of ours,
// python/magneto/graph_module.py, which gives them names.
#include "graph/python_handle.h"

#include <exception>

#include "graph/function_object.h"
#include "graph/materialize.h"
#include "graph/names.h"
#include "graph/printer.h"

namespace magneto::graph {

namespace {

// A handle of a nested graph has that of its root, which owns both and all of
// the names. Either is cleared where the collector has cleared the root's.
struct State {
  std::unique_ptr<Graph> graph;  // null: `root` has it
  TreeNames names;
  Ref root;
  GraphId id{0};
};

struct HandleObject {
  PyObject_HEAD State* state;  // owned; null once cleared
};

// Lives as long as the process: a type that objects may outlive can't be freed.
PyTypeObject* handle_type = nullptr;

HandleObject* cast(PyObject* self) {
  return reinterpret_cast<HandleObject*>(self);
}

// Null once cleared.
State* root_state(PyObject* self) {
  State* state = cast(self)->state;
  return state != nullptr && state->root ? cast(state->root)->state : state;
}

Graph& graph_in(PyObject* self) {
  State* root = root_state(self);
  MG_CHECK(root != nullptr, "the graph was cleared");
  return root->graph->graph(cast(self)->state->id);
}

const Names& names_in(PyObject* self) {
  return root_state(self)->names.of(graph_in(self));
}

Ref new_handle(std::unique_ptr<State> state) {
  Ref self = Ref::steal(handle_type->tp_alloc(handle_type, 0));
  if (self) cast(self.get())->state = state.release();
  return self;
}

// The edge to CPython: nothing of C++ may leave a slot.
template <class Body>
PyObject* guarded(Body body) noexcept {
  try {
    Ref result = body();
    return result.release();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* method_build(PyObject* self, PyObject* create) noexcept {
  return guarded([&] { return build(graph_in(self), names_in(self), create); });
}

PyObject* method_inputs(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_inputs(graph_in(self), names_in(self)); });
}

PyObject* method_attribute_paths(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_attribute_paths(graph_in(self)); });
}

PyObject* method_names(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_names(names_in(self).nodes); });
}

PyObject* method_recorded_names(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_names(names_in(self).recorded); });
}

PyObject* method_examples(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_examples(graph_in(self)); });
}

PyObject* method_input_examples(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_input_examples(graph_in(self)); });
}

PyObject* method_origins(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_origins(graph_in(self)); });
}

PyObject* method_locations(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_locations(graph_in(self)); });
}

PyObject* method_scopes(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_scopes(graph_in(self)); });
}

PyObject* method_attributes(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return attributes(graph_in(self)); });
}

PyObject* method_targets(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return targets(graph_in(self)); });
}

PyObject* method_function(PyObject* self, PyObject* const* args,
                          Py_ssize_t count) noexcept {
  return guarded([&]() -> Ref {
    if (count > 1 || (count == 1 && !PyDict_Check(args[0]))) {
      PyErr_SetString(PyExc_TypeError, "function() takes a dict or nothing");
      return nullptr;
    }
    return make_function(graph_in(self), count == 1 ? args[0] : nullptr);
  });
}

PyObject* method_nested(PyObject* self, PyObject*) noexcept {
  return guarded([&] {
    const Graph& graph = graph_in(self);
    const Ref& owner = cast(self)->state->root;
    PyObject* root = owner ? owner.get() : self;
    return nested_graphs(graph, [&](const Graph& nested) {
      auto state = std::make_unique<State>();
      state->root = Ref::share(root);
      state->id = nested.id();
      return new_handle(std::move(state));
    });
  });
}

PyObject* method_callers(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return list_callers(graph_in(self), names_in(self)); });
}

PyObject* method_meta(PyObject* self, PyObject*) noexcept {
  return guarded([&] {
    Ref dict = Ref::steal(PyDict_New());
    for (const auto& [name, value] : graph_in(self).meta())
      if (dict && PyDict_SetItemString(dict, name, value) < 0) return Ref();
    return dict;
  });
}

PyObject* method_text(PyObject* self, PyObject*) noexcept {
  return guarded([&] {
    const std::string text = print(graph_in(self));
    return Ref::steal(PyUnicode_FromStringAndSize(
        text.data(), static_cast<Py_ssize_t>(text.size())));
  });
}

PyObject* get_call_count(PyObject* self, void*) noexcept {
  return guarded([&] {
    return Ref::steal(PyLong_FromSize_t(graph_in(self).call_count()));
  });
}

PyObject* get_input_count(PyObject* self, void*) noexcept {
  return guarded([&] {
    return Ref::steal(PyLong_FromSize_t(graph_in(self).inputs().size()));
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  const State* state = cast(self)->state;
  if (state == nullptr) return 0;
  Py_VISIT(state->root.get());
  if (!state->graph) return 0;
  return state->graph->visit_objects(
      [&](PyObject* object) { return visit(object, arg); });
}

int clear(PyObject* self) noexcept {
  const std::unique_ptr<State> dying(std::exchange(cast(self)->state, nullptr));
  return 0;
}

void deallocate(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Ref::steal(reinterpret_cast<PyObject*>(type));
}

PyMethodDef methods[] = {
    {"build", method_build, METH_O,
     "build(create): calls create(index, op, target, args, kwargs, name) for\n"
     "each node, inputs first; what it returns stands for that node in the\n"
     "args of later ones."},
    {"inputs", method_inputs, METH_NOARGS,
     "A list of (node index, parameter name, source index, source name,\n"
     "attribute path, kind) for each input, in order."},
    {"attribute_paths", method_attribute_paths, METH_NOARGS,
     "A list of (source name, attribute path) of parameters and buffers."},
    {"names", method_names, METH_NOARGS,
     "The names of all nodes, by node index."},
    {"recorded_names", method_recorded_names, METH_NOARGS,
     "The names before values were stored in variables, by node index."},
    {"examples", method_examples, METH_NOARGS,
     "The example values of all nodes (None: unknown), by node index."},
    {"input_examples", method_input_examples, METH_NOARGS,
     "The example values of the inputs, in order."},
    {"origins", method_origins, METH_NOARGS,
     "(location, scope) of all nodes, by node index; None where unknown."},
    {"locations", method_locations, METH_NOARGS,
     "A list of (code, instruction offset, index of the caller or None)."},
    {"scopes", method_scopes, METH_NOARGS,
     "A list of (address of the module, path, type, index of the outer\n"
     "module's entry or None)."},
    {"attributes", method_attributes, METH_NOARGS,
     "A dict of the values that get_attr nodes read, but for graphs."},
    {"nested", method_nested, METH_NOARGS,
     "A dict of the nested graphs that get_attr nodes read: a Graph by name."},
    {"callers", method_callers, METH_NOARGS,
     "By the name of a nested graph, the call that is given it: (recorded\n"
     "name, function)."},
    {"meta", method_meta, METH_NOARGS,
     "A new dict of what the operator that is given the graph reads of it."},
    {"targets", method_targets, METH_NOARGS,
     "The distinct callables that the graph and those nested in it call."},
    {"function",
     reinterpret_cast<PyCFunction>(
         reinterpret_cast<void (*)()>(method_function)),
     METH_FASTCALL,
     "function(callables={}): a new callable that runs the graph. Operators\n"
     "are given callables[name] for a nested graph, or one that runs it;\n"
     "callables[function] is called in the place of a function."},
    {"text", method_text, METH_NOARGS, "The graph as text, without addresses."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"call_count", get_call_count, nullptr,
                             "How many calls it makes.", nullptr},
                            {"input_count", get_input_count, nullptr,
                             "How many inputs it takes.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("A captured graph.")},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {0, nullptr}};

PyType_Spec spec = {"magneto._C.Graph", sizeof(HandleObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION |
                        Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

}  // namespace

bool init_types(PyObject* module) {
  if (handle_type == nullptr) {
    handle_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (handle_type == nullptr) return false;
  }
  if (module != nullptr && PyModule_AddType(module, handle_type) < 0) {
    return false;
  }
  return init_function_type(module);
}

Ref make_handle(std::unique_ptr<Graph> graph) {
  MG_CHECK(handle_type != nullptr, "init_types() must come first");
  MG_CHECK(graph->parent() == nullptr, "a root has the handles of its tree");
  graph->seal();
  auto state = std::make_unique<State>();
  state->graph = std::move(graph);
  return new_handle(std::move(state));
}

Graph* graph_of(PyObject* handle) {
  if (handle_type == nullptr || Py_TYPE(handle) != handle_type) {
    return nullptr;
  }
  return root_state(handle) == nullptr ? nullptr : &graph_in(handle);
}

}  // namespace magneto::graph
