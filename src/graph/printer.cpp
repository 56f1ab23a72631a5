// SPDX-License-Identifier: BSD-3-Clause
#include "graph/printer.h"

#include <fmt/format.h>

#include "graph/names.h"

namespace magneto::graph {

namespace {

std::string text_of(Ref str) {
  const char* data = str ? PyUnicode_AsUTF8(str.get()) : nullptr;
  if (data == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return data;
}

std::string attribute_text(PyObject* object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object, name));
  if (!value) {
    PyErr_Clear();
    return "";
  }
  return text_of(Ref::steal(PyObject_Str(value)));
}

// repr() of plain data; of everything else the name or type, because a repr
// may contain an address.
std::string constant_text(PyObject* object) {
  if (object == nullptr) return "<missing>";
  if (object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
      PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
      PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
      PyBytes_CheckExact(object)) {
    return text_of(Ref::steal(PyObject_Repr(object)));
  }
  const std::string type = Py_TYPE(object)->tp_name;
  if (type == "torch.dtype" || type == "torch.device" ||
      type == "torch.layout" || type == "torch.memory_format" ||
      type == "torch.Size") {
    return text_of(Ref::steal(PyObject_Repr(object)));
  }
  const std::string name = attribute_text(object, "__name__");
  return name.empty() ? "<" + type + ">" : name;
}

class Printer {
 public:
  Printer(const Graph& graph, TreeNames& tree_names, std::string indent)
      : graph_(graph),
        tree_names_(tree_names),
        names_(tree_names.of(graph)),
        indent_(std::move(indent)) {}

  std::string run() {
    for (const Input& input : graph_.inputs()) {
      line(input.node, input.lifted.valid() ? "lifted " + outer_name(input)
                                            : "input " + input.source_name);
    }
    for (NodeId id : graph_.live()) print_node(id, graph_.node(id));
    return std::move(text_);
  }

 private:
  void print_node(NodeId id, const Node& node) {
    switch (node.op) {
      case Op::Placeholder:
        return;
      case Op::GetAttr:
        if (node.nested.valid()) return print_nested(id, node);
        return line(id, "get_attr " + text_of(node.target.share()));
      case Op::CallFunction:
        return line(id, constant_text(node.target) + call_text(node));
      case Op::CallMethod:
        return line(id, "." + text_of(node.target.share()) + call_text(node));
      case Op::Output:
        text_ += indent_ + "return " + arg_text(node.args[0]) + "\n";
        return;
    }
  }

  // The graph itself stands where it is first read.
  void print_nested(NodeId id, const Node& node) {
    line(id, "graph " + text_of(node.target.share()));
    for (NodeId other : graph_.live()) {
      if (graph_.node(other).nested != node.nested) continue;
      if (other != id) return;
      break;
    }
    text_ +=
        Printer(graph_.graph(node.nested), tree_names_, indent_ + "  ").run();
  }

  std::string outer_name(const Input& input) {
    return tree_names_.of(*graph_.outer()).nodes[input.lifted.index];
  }

  void line(NodeId id, const std::string& value) {
    text_ += indent_ + names_.nodes[id.index] + " = " + value;
    const std::string example = example_text(graph_.node(id).example);
    if (!example.empty()) text_ += " : " + example;
    text_ += "\n";
  }

  std::string call_text(const Node& node) {
    std::string text;
    for (const Arg& arg : node.args) {
      text += (text.empty() ? "" : ", ") + arg_text(arg);
    }
    for (const Keyword& keyword : node.kwargs) {
      text += (text.empty() ? "" : ", ") + text_of(Ref::share(keyword.name)) +
              "=" + arg_text(keyword.value);
    }
    return "(" + text + ")";
  }

  std::string arg_text(const Arg& arg) {
    switch (arg.tag()) {
      case ArgTag::Constant:
        return constant_text(arg.constant());
      case ArgTag::Node:
        return names_.nodes[arg.node().index];
      case ArgTag::Tuple:
        return "(" + items_text(arg) + (arg.items().size() == 1 ? ",)" : ")");
      case ArgTag::List:
        return "[" + items_text(arg) + "]";
      case ArgTag::Slice:
        return "slice(" + items_text(arg) + ")";
      case ArgTag::Dict: {
        std::string text;
        for (size_t i = 0; i < arg.items().size(); i += 2) {
          text += (i == 0 ? "" : ", ") + arg_text(arg.items()[i]) + ": " +
                  arg_text(arg.items()[i + 1]);
        }
        return "{" + text + "}";
      }
    }
    return "?";
  }

  std::string items_text(const Arg& arg) {
    std::string text;
    for (const Arg& item : arg.items()) {
      text += (text.empty() ? "" : ", ") + arg_text(item);
    }
    return text;
  }

  // "float32[2, 3]" for anything that has a shape and a dtype.
  static std::string example_text(PyObject* example) {
    if (example == nullptr) return "";
    if (PyTuple_CheckExact(example) || PyList_CheckExact(example)) {
      std::string text;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(example); ++i) {
        text += (i == 0 ? "" : ", ") +
                example_text(PySequence_Fast_GET_ITEM(example, i));
      }
      return "(" + text + ")";
    }
    std::string dtype = attribute_text(example, "dtype");
    Ref shape = Ref::steal(PyObject_GetAttrString(example, "shape"));
    if (dtype.empty() || !shape || !PyTuple_Check(shape.get())) {
      PyErr_Clear();
      return "";
    }
    if (dtype.starts_with("torch.")) dtype = dtype.substr(6);
    std::string sizes;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.get()); ++i) {
      sizes +=
          (i == 0 ? "" : ", ") +
          text_of(Ref::steal(PyObject_Str(PyTuple_GET_ITEM(shape.get(), i))));
    }
    return dtype + "[" + sizes + "]";
  }

  const Graph& graph_;
  TreeNames& tree_names_;
  const Names& names_;
  const std::string indent_;
  std::string text_;
};

}  // namespace

std::string print(const Graph& graph) {
  TreeNames names;
  return Printer(graph, names, "").run();
}

}  // namespace magneto::graph
