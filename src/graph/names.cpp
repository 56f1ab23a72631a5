// SPDX-License-Identifier: BSD-3-Clause
// The order of events matters: a name is taken when its node is recorded, and
// a second one when the value is first stored in a variable, so later nodes see
// both as used. This file replays these events in their order.
#include "graph/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "python/find.h"

namespace magneto::graph {

namespace {

// Python's keywords, and the names that torch.fx's generated code gives a
// meaning of its own. Builtins are asked of the interpreter.
constexpr std::array<std::string_view, 42> kReserved = {
    "False",  "None",     "True",  "and",    "as",        "assert",
    "async",  "await",    "break", "class",  "continue",  "def",
    "del",    "elif",     "else",  "except", "finally",   "for",
    "from",   "global",   "if",    "import", "in",        "is",
    "lambda", "nonlocal", "not",   "or",     "pass",      "raise",
    "return", "try",      "while", "with",   "yield",     "inf",
    "nan",    "NoneType", "torch", "device", "fx_pytree", "pytree"};

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Each run of other characters becomes one underscore.
std::string as_identifier(std::string_view text) {
  std::string result;
  bool replaced = false;
  for (char c : text) {
    if (is_word(c)) {
      result += c;
      replaced = false;
    } else if (!replaced) {
      result += '_';
      replaced = true;
    }
  }
  if (result.empty()) return "_unnamed";
  if (std::isdigit(static_cast<unsigned char>(result[0]))) {
    result.insert(result.begin(), '_');
  }
  return result;
}

// camelCase becomes camel_case.
std::string snake_case(std::string_view text) {
  std::string result;
  char previous = 0;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z' && previous >= 'a' && previous <= 'z') {
      result += '_';
    }
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    previous = c;
  }
  return result;
}

// "L['cfg']._buffers['a']" becomes "L_cfg_buffers_a_".
std::string parameter_name(std::string_view source_name) {
  std::string result;
  bool replaced = false;
  for (char c : source_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += c;
      replaced = false;
    } else if (!replaced) {
      result += '_';
      replaced = true;
    }
  }
  return result.empty() ? "_unnamed" : result;
}

class Namespace {
 public:
  std::string take(std::string_view wanted) {
    std::string candidate = as_identifier(wanted);
    // A suffix `_<digits>` counts as the number of a shorter base.
    std::string base = candidate;
    uint64_t number = 0;
    bool numbered = false;
    const size_t underscore = candidate.rfind('_');
    if (underscore != std::string::npos && underscore > 0 &&
        candidate.size() - underscore < 18 &&
        is_digits(std::string_view(candidate).substr(underscore + 1))) {
      base = candidate.substr(0, underscore);
      number = std::stoull(candidate.substr(underscore + 1));
      numbered = true;
    }
    if (!numbered || used_.contains(candidate)) {
      auto count = counts_.find(base);
      number = count == counts_.end() ? 0 : count->second;
      if (is_reserved(candidate)) {
        candidate = base + '_' + std::to_string(++number);
      }
    }
    while (used_.contains(candidate)) {
      candidate = base + '_' + std::to_string(++number);
    }
    used_.insert(candidate);
    counts_[base] = number;
    return candidate;
  }

 private:
  bool is_reserved(const std::string& name) {
    if (std::find(kReserved.begin(), kReserved.end(), name) !=
        kReserved.end()) {
      return true;
    }
    return PyDict_GetItemString(builtins_, name.c_str()) != nullptr;
  }

  PyObject* builtins_ = builtins();
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, uint64_t> counts_;
};

std::string text_of(PyObject* str) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(str, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return "";
  }
  return {data, static_cast<size_t>(size)};
}

std::string callable_name(PyObject* target) {
  Ref name = Ref::steal(PyObject_GetAttrString(target, "__name__"));
  if (!name || !PyUnicode_Check(name.get())) {
    PyErr_Clear();
    return Py_TYPE(target)->tp_name;
  }
  return text_of(name);
}

std::string wanted_name(const Graph& graph, const Node& node,
                        const std::string& parameter) {
  switch (node.op) {
    case Op::Placeholder:
      return snake_case(parameter);
    case Op::Output:
      return "output";
    case Op::CallFunction:
      return snake_case(callable_name(node.target));
    case Op::GetAttr:
    case Op::CallMethod: {
      std::string name = text_of(node.target);
      if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
        name = name.substr(2, name.size() - 4);
      }
      return snake_case(name);
    }
  }
  return "";
}

// What a value around it was called when the nested graph was begun.
const std::string& outer_name(const Graph& nested, NodeId outer,
                              const Names& names) {
  const Node& node = nested.outer()->node(outer);
  return node.name_hint && node.hinted_at > nested.added_at()
             ? names.recorded[outer.index]
             : names.nodes[outer.index];
}

// `outer`: the names of the nodes of outer(); null for a root.
Names assign(const Graph& graph, const Names* outer) {
  Names names;
  names.nodes.resize(graph.node_count());
  names.recorded.resize(graph.node_count());
  names.parameters.resize(graph.inputs().size());
  Namespace space;
  std::unordered_set<std::string> parameters;
  auto take_parameter = [&](const Node& node) {
    std::string name;
    if (node.op != Op::Placeholder) return name;
    const Input& input = graph.inputs()[node.input];
    const std::string base = input.lifted.valid()
                                 ? outer_name(graph, input.lifted, *outer)
                                 : parameter_name(input.source_name);
    name = base;
    for (int i = 0; !parameters.insert(name).second; ++i) {
      name = base + '_' + std::to_string(i);
    }
    return name;
  };

  std::vector<uint32_t> hinted;
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    if (graph.nodes()[i].name_hint) hinted.push_back(i);
  }
  std::stable_sort(hinted.begin(), hinted.end(), [&](uint32_t a, uint32_t b) {
    return graph.nodes()[a].hinted_at < graph.nodes()[b].hinted_at;
  });
  auto next_hint = hinted.begin();
  auto rename_until = [&](size_t node_count) {
    for (; next_hint != hinted.end(); ++next_hint) {
      const Node& node = graph.nodes()[*next_hint];
      if (node.hinted_at > node_count) return;
      const std::string hint = text_of(node.name_hint);
      std::string& name = names.nodes[*next_hint];
      if (hint != name) name = space.take(hint);
    }
  };

  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    rename_until(i);
    const Node& node = graph.nodes()[i];
    // A dropped input's name is free again: nothing can refer to it.
    if (node.op == Op::Placeholder && node.erased) continue;
    const std::string parameter = take_parameter(node);
    names.nodes[i] = space.take(wanted_name(graph, node, parameter));
    names.recorded[i] = names.nodes[i];
    if (!parameter.empty()) names.parameters[node.input] = parameter;
  }
  rename_until(graph.node_count());
  return names;
}

}  // namespace

Names assign_names(const Graph& graph) {
  if (graph.outer() == nullptr) return assign(graph, nullptr);
  const Names outer = assign_names(*graph.outer());
  return assign(graph, &outer);
}

const Names& TreeNames::of(const Graph& graph) {
  const auto known = names_.find(graph.id());
  if (known != names_.end()) return known->second;
  const Names* outer = graph.outer() == nullptr ? nullptr : &of(*graph.outer());
  return names_.emplace(graph.id(), assign(graph, outer)).first->second;
}

}  // namespace magneto::graph
