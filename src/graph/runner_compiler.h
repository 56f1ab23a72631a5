// SPDX-License-Identifier: BSD-3-Clause
// How a graph becomes a GraphRunner's instructions. Included only by the
// runner's .cpp files.
#pragma once

#include <unordered_map>

#include "graph/runner.h"

namespace magneto::graph {

class GraphRunner::Compiler {
 public:
  Compiler(const Graph& graph, PyObject* callables, GraphRunner& runner);
  // False with a Python error set.
  bool run();

 private:
  static constexpr uint32_t kNever = 0xffffffffu;

  void find_last_uses();
  bool emit_node(NodeId id, const Node& node);
  // Null, perhaps with a Python error set, if none is given for the key.
  PyObject* given_for(PyObject* key) const;
  bool read_attribute(NodeId id, const Node& node);
  bool emit_call(NodeId id, const Node& node);
  bool set_results(const Arg& value);
  bool operand_of(const Arg& arg, RunnerOperand& operand);
  bool build_constant(const Arg& arg, RunnerOperand& operand);
  bool build_fresh(const Arg& arg, RunnerOperand& operand);
  RunnerOperand constant(Ref object);
  uint32_t constant_index(Ref object);
  uint32_t take_slot();
  void emit(Instruction instruction, std::span<const RunnerOperand> operands);
  void release_after(NodeId id);

  const Graph& graph_;
  PyObject* callables_;  // see GraphRunner's constructor
  GraphRunner& runner_;
  NodeId node_;                     // the one being compiled
  std::vector<uint32_t> last_use_;  // by NodeId: the node that uses it last
  std::vector<std::vector<uint32_t>> dying_;  // by NodeId: last used by it
  std::vector<RunnerOperand> node_operands_;  // by NodeId
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> temporaries_;  // slots of built arguments of a call
  std::unordered_map<PyObject*, uint32_t> constants_;
  std::unordered_map<GraphId, Ref> nested_;  // what stands for nested graphs
};

}  // namespace magneto::graph
