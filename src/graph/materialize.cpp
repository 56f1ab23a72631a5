// SPDX-License-Identifier: BSD-3-Clause
#include "graph/materialize.h"

#include <unordered_set>

#include "graph/uses.h"

namespace magneto::graph {

namespace {

Ref text(std::string_view value) {
  return Ref::steal(PyUnicode_FromStringAndSize(
      value.data(), static_cast<Py_ssize_t>(value.size())));
}

template <class Id>
Ref index_or_none(Id id) {
  return id.valid() ? Ref::steal(PyLong_FromUnsignedLong(id.index))
                    : Ref::share(Py_None);
}

// A list of make(item) for each item.
template <class Items, class Make>
Ref list_of(const Items& items, Make make) {
  Ref list = Ref::steal(PyList_New(static_cast<Py_ssize_t>(std::size(items))));
  if (!list) return nullptr;
  Py_ssize_t i = 0;
  for (const auto& item : items) {
    Ref value = make(item);
    if (!value) return nullptr;
    PyList_SET_ITEM(list.get(), i++, value.release());
  }
  return list;
}

template <class... Items>
Ref tuple_of(Items&&... items) {
  if (!(... && items)) return nullptr;
  return Ref::steal(PyTuple_Pack(sizeof...(items), items.get()...));
}

const char* op_name(Op op) {
  switch (op) {
    case Op::Placeholder:
      return "placeholder";
    case Op::GetAttr:
      return "get_attr";
    case Op::CallFunction:
      return "call_function";
    case Op::CallMethod:
      return "call_method";
    case Op::Output:
      return "output";
  }
  return "";
}

const char* kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::Tensor:
      return "tensor";
    case InputKind::Parameter:
      return "parameter";
    case InputKind::Buffer:
      return "buffer";
    case InputKind::Number:
      return "number";
    case InputKind::Object:
      return "object";
  }
  return "";
}

class Builder {
 public:
  Builder(const Graph& graph, const Names& names, PyObject* create)
      : graph_(graph),
        names_(names),
        create_(create),
        made_(graph.node_count()) {}

  bool run() {
    for (const Input& input : graph_.inputs()) {
      if (!create(input.node)) return false;
    }
    for (NodeId id : graph_.live()) {
      if (graph_.node(id).op == Op::Placeholder) continue;
      if (!create(id)) return false;
    }
    return true;
  }

 private:
  bool create(NodeId id) {
    const Node& node = graph_.node(id);
    Ref args = sequence(node.args, /*as_list=*/false);
    Ref kwargs = Ref::steal(PyDict_New());
    if (!args || !kwargs) return false;
    for (const Keyword& keyword : node.kwargs) {
      Ref value = object_of(keyword.value);
      if (!value || PyDict_SetItem(kwargs, keyword.name, value) < 0) {
        return false;
      }
    }
    Ref target = target_of(node);
    Ref index = Ref::steal(PyLong_FromUnsignedLong(id.index));
    Ref op = Ref::steal(PyUnicode_InternFromString(op_name(node.op)));
    Ref name = text(names_.nodes[id.index]);
    if (!target || !index || !op || !name) return false;
    PyObject* arguments[] = {index, op, target, args, kwargs, name};
    made_[id.index] = Ref::steal(
        PyObject_Vectorcall(create_, arguments, std::size(arguments), nullptr));
    return static_cast<bool>(made_[id.index]);
  }

  Ref target_of(const Node& node) {
    if (node.op == Op::Placeholder) return text(names_.parameters[node.input]);
    if (node.op == Op::Output) return text("output");
    return node.target.share();
  }

  Ref object_of(const Arg& arg) {
    switch (arg.tag()) {
      case ArgTag::Constant:
        return Ref::share(arg.constant());
      case ArgTag::Node:
        MG_CHECK(made_[arg.node().index], "a node is used before it is made");
        return made_[arg.node().index].share();
      case ArgTag::Tuple:
        return sequence(arg.items(), /*as_list=*/false);
      case ArgTag::List:
        return sequence(arg.items(), /*as_list=*/true);
      case ArgTag::Dict:
        return dict_of(arg);
      case ArgTag::Slice: {
        Ref parts = sequence(arg.items(), /*as_list=*/false);
        if (!parts) return nullptr;
        return Ref::steal(PySlice_New(PyTuple_GET_ITEM(parts.get(), 0),
                                      PyTuple_GET_ITEM(parts.get(), 1),
                                      PyTuple_GET_ITEM(parts.get(), 2)));
      }
    }
    return nullptr;
  }

  Ref sequence(std::span<const Arg> items, bool as_list) {
    const auto size = static_cast<Py_ssize_t>(items.size());
    Ref result = Ref::steal(as_list ? PyList_New(size) : PyTuple_New(size));
    if (!result) return nullptr;
    for (Py_ssize_t i = 0; i < size; ++i) {
      Ref item = object_of(items[static_cast<size_t>(i)]);
      if (!item) return nullptr;
      if (as_list) {
        PyList_SET_ITEM(result.get(), i, item.release());
      } else {
        PyTuple_SET_ITEM(result.get(), i, item.release());
      }
    }
    return result;
  }

  Ref dict_of(const Arg& arg) {
    Ref dict = Ref::steal(PyDict_New());
    if (!dict) return nullptr;
    for (size_t i = 0; i < arg.items().size(); i += 2) {
      Ref key = object_of(arg.items()[i]);
      Ref value = object_of(arg.items()[i + 1]);
      if (!key || !value || PyDict_SetItem(dict, key, value) < 0) {
        return nullptr;
      }
    }
    return dict;
  }

  const Graph& graph_;
  const Names& names_;
  PyObject* create_;
  std::vector<Ref> made_;  // by NodeId
};

}  // namespace

Ref build(const Graph& graph, const Names& names, PyObject* create) {
  if (!Builder(graph, names, create).run()) return nullptr;
  return Ref::share(Py_None);
}

Ref list_inputs(const Graph& graph, const Names& names) {
  return list_of(graph.inputs(), [&](const Input& input) {
    const uint32_t position = graph.node(input.node).input;
    return tuple_of(index_or_none(input.node), text(names.parameters[position]),
                    Ref::steal(PyLong_FromUnsignedLong(input.source)),
                    text(input.source_name), text(input.attribute_path),
                    text(kind_name(input.kind)));
  });
}

Ref list_attribute_paths(const Graph& graph) {
  Ref list = Ref::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const Input& input : graph.inputs()) {
    if (input.attribute_path.empty()) continue;
    Ref entry = tuple_of(text(input.source_name), text(input.attribute_path));
    if (!entry || PyList_Append(list, entry) < 0) return nullptr;
  }
  return list;
}

Ref list_names(const std::vector<std::string>& names) {
  return list_of(names, [](const std::string& name) { return text(name); });
}

namespace {

Ref example_of(const Node& node) {
  return node.example ? node.example.share() : Ref::share(Py_None);
}

}  // namespace

Ref list_examples(const Graph& graph) {
  return list_of(graph.nodes(), example_of);
}

Ref list_input_examples(const Graph& graph) {
  return list_of(graph.inputs(), [&](const Input& input) {
    return example_of(graph.node(input.node));
  });
}

Ref list_origins(const Graph& graph) {
  return list_of(graph.nodes(), [](const Node& node) {
    return tuple_of(index_or_none(node.origin.location),
                    index_or_none(node.origin.scope));
  });
}

Ref list_locations(const Graph& graph) {
  return list_of(graph.locations(), [](const Location& location) {
    return tuple_of(
        Ref::share(reinterpret_cast<PyObject*>(location.code.get())),
        Ref::steal(PyLong_FromLong(location.instruction)),
        index_or_none(location.caller));
  });
}

Ref list_scopes(const Graph& graph) {
  return list_of(graph.scopes(), [](const Scope& scope) {
    return tuple_of(
        Ref::steal(PyLong_FromVoidPtr(const_cast<void*>(scope.module))),
        text(scope.path),
        Ref::share(reinterpret_cast<PyObject*>(scope.type.get())),
        index_or_none(scope.parent));
  });
}

Ref attributes(const Graph& graph) {
  Ref dict = Ref::steal(PyDict_New());
  if (!dict) return nullptr;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    if (node.op != Op::GetAttr || node.nested.valid()) continue;
    if (PyDict_SetItem(dict, node.target, node.attribute) < 0) return nullptr;
  }
  return dict;
}

Ref nested_graphs(const Graph& graph,
                  const std::function<Ref(const Graph& nested)>& make) {
  Ref dict = Ref::steal(PyDict_New());
  if (!dict || graph.nested().empty()) return dict;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    if (!node.nested.valid()) continue;
    const int is_there = PyDict_Contains(dict, node.target);
    if (is_there < 0) return nullptr;
    if (is_there != 0) continue;
    Ref made = make(graph.graph(node.nested));
    if (!made || PyDict_SetItem(dict, node.target, made) < 0) return nullptr;
  }
  return dict;
}

Ref list_callers(const Graph& graph, const Names& names) {
  Ref dict = Ref::steal(PyDict_New());
  if (!dict || graph.nested().empty()) return dict;
  bool is_done = true;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    if (node.op != Op::CallFunction) continue;
    visit_operands(node, [&](NodeId operand) {
      const Node& read = graph.node(operand);
      if (!is_done || !read.nested.valid()) return;
      const Ref name = text(names.recorded[id.index]);
      const Ref caller = Ref::steal(
          name ? PyTuple_Pack(2, name.get(), node.target.get()) : nullptr);
      is_done = caller && PyDict_SetItem(dict, read.target, caller) == 0;
    });
  }
  return is_done ? std::move(dict) : Ref();
}

namespace {

bool add_targets(const Graph& graph, PyObject* list,
                 std::unordered_set<PyObject*>& seen,
                 std::unordered_set<const Graph*>& visited) {
  if (!visited.insert(&graph).second) return true;
  for (NodeId id : graph.live()) {
    const Node& node = graph.node(id);
    if (node.nested.valid() &&
        !add_targets(graph.graph(node.nested), list, seen, visited))
      return false;
    if (node.op != Op::CallFunction) continue;
    if (!seen.insert(node.target.get()).second) continue;
    if (PyList_Append(list, node.target) < 0) return false;
  }
  return true;
}

}  // namespace

Ref targets(const Graph& graph) {
  Ref list = Ref::steal(PyList_New(0));
  std::unordered_set<PyObject*> seen;
  std::unordered_set<const Graph*> visited;
  if (!list || !add_targets(graph, list, seen, visited)) return nullptr;
  return list;
}

}  // namespace magneto::graph
