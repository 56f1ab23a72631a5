// SPDX-License-Identifier: BSD-3-Clause
// To teach the pass another read, add a row to the table. A row must name
// something that neither writes, nor raises for the operands that it was
// recorded with, nor draws random numbers; Node::has_effect is for the rest.
#include <algorithm>
#include <array>

#include "graph/edit.h"
#include "graph/passes/passes.h"
#include "graph/uses.h"
#include "python/find.h"

namespace magneto::graph {

namespace {

bool always(const Node&) { return true; }

// What selects a part by itself, and is checked against a size while tracing.
bool is_position(PyObject* key) {
  return key == Py_None || key == Py_Ellipsis || PyLong_Check(key) ||
         PySlice_Check(key) || PyUnicode_Check(key);
}

bool is_position(const Arg& key) {
  return key.is_constant() ? is_position(key.constant())
                           : key.is_node() || key.tag() == ArgTag::Slice;
}

// A position, or a tuple of them.
bool holds_positions(const Arg& key) {
  if (key.tag() == ArgTag::Tuple)
    return std::ranges::all_of(
        key.items(), [](const Arg& item) { return is_position(item); });
  if (!key.is_constant() || !PyTuple_Check(key.constant()))
    return is_position(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key.constant()); ++i)
    if (!is_position(PyTuple_GET_ITEM(key.constant(), i))) return false;
  return true;
}

// An index that only the call knows may be out of range, and so may what is in
// a sequence within the key: that only the run looks at.
bool index_is_constant(const Node& node) {
  size_t operands = 0;
  visit_operands(node, [&](NodeId) { ++operands; });
  return operands == 1 && std::ranges::all_of(node.args, holds_positions);
}

// Assertions about a value that was known while tracing.
bool first_is_true(const Node& node) {
  return !node.args.empty() && node.args[0].is_constant() &&
         node.args[0].constant() == Py_True;
}

struct FunctionRow {
  const char* path;
  bool (*applies)(const Node&);
};

constexpr std::array kFunctions = {
    FunctionRow{"_operator.getitem", index_is_constant},
    FunctionRow{"torch._check", first_is_true},
    FunctionRow{"torch.ops.aten.sym_size.int", always},
    FunctionRow{"torch.ops.aten.sym_storage_offset.default", always},
};

constexpr std::array<const char*, 4> kMethods = {"size", "stride",
                                                 "storage_offset", "item"};

class Reads {
 public:
  Reads() {
    // A row whose module isn't loaded matches nothing.
    for (size_t i = 0; i < kFunctions.size(); ++i)
      functions_[i] = find_object(kFunctions[i].path);
  }

  bool contains(const Node& node) const {
    switch (node.op) {
      case Op::GetAttr:
        return true;
      case Op::CallFunction:
        for (size_t i = 0; i < kFunctions.size(); ++i) {
          if (node.target.get() == functions_[i]) {
            return kFunctions[i].applies(node);
          }
        }
        return false;
      case Op::CallMethod:
        for (const char* method : kMethods) {
          if (PyUnicode_CompareWithASCIIString(node.target, method) == 0) {
            return true;
          }
        }
        return false;
      case Op::Placeholder:
      case Op::Output:
        return false;
    }
    return false;
  }

 private:
  std::array<PyObject*, kFunctions.size()> functions_;
};

void remove_dead_reads(Graph& graph, const Reads& reads) {
  std::vector<uint32_t> uses = count_uses(graph);
  std::vector<NodeId> dead;
  // Backwards, so that what fed only a dead read is seen dead in turn.
  for (size_t i = graph.node_count(); i-- > 0;) {
    const NodeId id = graph.at(i);
    const Node& node = graph.node(id);
    if (node.erased || node.has_effect || uses[id.index] != 0 ||
        !reads.contains(node))
      continue;
    visit_operands(node, [&](NodeId used) { --uses[used.index]; });
    dead.push_back(id);
  }
  erase(graph, dead);
  for (const auto& nested : graph.nested()) {
    if (nested->is_installed()) remove_dead_reads(*nested, reads);
  }
}

}  // namespace

void remove_dead_reads(Graph& graph) { remove_dead_reads(graph, Reads()); }

}  // namespace magneto::graph
