// SPDX-License-Identifier: BSD-3-Clause
#include "graph/runner_compiler.h"

#include <algorithm>

#include "graph/function_object.h"
#include "graph/uses.h"

namespace magneto::graph {

namespace {

// Whether the argument is the same immutable object at every run.
bool is_fixed(const Arg& arg) {
  switch (arg.tag()) {
    case ArgTag::Constant:
      return true;
    case ArgTag::Node:
    case ArgTag::List:
    case ArgTag::Dict:
      return false;
    case ArgTag::Tuple:
    case ArgTag::Slice:
      return std::all_of(arg.items().begin(), arg.items().end(), is_fixed);
  }
  return false;
}

Ref make_fixed(const Arg& arg) {
  if (arg.is_constant()) return Ref::share(arg.constant());
  const auto items = arg.items();
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  if (!tuple) return nullptr;
  for (size_t i = 0; i < items.size(); ++i) {
    Ref item = make_fixed(items[i]);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item.release());
  }
  if (arg.tag() == ArgTag::Tuple) return tuple;
  return Ref::steal(PySlice_New(PyTuple_GET_ITEM(tuple.get(), 0),
                                PyTuple_GET_ITEM(tuple.get(), 1),
                                PyTuple_GET_ITEM(tuple.get(), 2)));
}

}  // namespace

GraphRunner::Compiler::Compiler(const Graph& graph, PyObject* callables,
                                GraphRunner& runner)
    : graph_(graph),
      callables_(callables),
      runner_(runner),
      last_use_(graph.node_count(), kNever),
      dying_(graph.node_count()),
      node_operands_(graph.node_count(),
                     RunnerOperand{RunnerOperand::Kind::Slot, kNever}) {}

bool GraphRunner::Compiler::run() {
  runner_.input_count_ = graph_.inputs().size();
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    node_operands_[graph_.inputs()[i].node.index] = {RunnerOperand::Kind::Input,
                                                     static_cast<uint32_t>(i)};
  }
  find_last_uses();
  for (NodeId id : graph_.live()) {
    node_ = id;
    if (!emit_node(id, graph_.node(id))) return false;
  }
  return true;
}

void GraphRunner::Compiler::find_last_uses() {
  for (NodeId user : graph_.live()) {
    visit_operands(graph_.node(user),
                   [&](NodeId id) { last_use_[id.index] = user.index; });
  }
  for (NodeId id : graph_.live()) {
    if (!is_call(graph_.node(id).op)) continue;
    // A value that nothing uses dies at once.
    const uint32_t last = last_use_[id.index];
    dying_[last == kNever ? id.index : last].push_back(id.index);
  }
}

bool GraphRunner::Compiler::emit_node(NodeId id, const Node& node) {
  switch (node.op) {
    case Op::Placeholder:
      return true;
    case Op::GetAttr:
      return read_attribute(id, node);
    case Op::CallFunction:
    case Op::CallMethod:
      return emit_call(id, node);
    case Op::Output:
      return set_results(node.args[0]);
  }
  return true;
}

PyObject* GraphRunner::Compiler::given_for(PyObject* key) const {
  return callables_ != nullptr ? PyDict_GetItemWithError(callables_, key)
                               : nullptr;
}

bool GraphRunner::Compiler::read_attribute(NodeId id, const Node& node) {
  Ref value = node.attribute.share();
  if (node.nested.valid()) {
    PyObject* given = given_for(node.target);
    if (given == nullptr && PyErr_Occurred() != nullptr) return false;
    Ref& callable = nested_[node.nested];
    if (!callable) {
      callable = given != nullptr ? Ref::share(given)
                                  : make_function(graph_.graph(node.nested));
    }
    if (!callable) return false;
    value = callable.share();
  }
  node_operands_[id.index] = constant(std::move(value));
  return true;
}

bool GraphRunner::Compiler::emit_call(NodeId id, const Node& node) {
  std::vector<RunnerOperand> operands;
  operands.reserve(node.args.size() + node.kwargs.size());
  for (const Arg& arg : node.args) {
    if (!operand_of(arg, operands.emplace_back())) return false;
  }
  int32_t keywords = -1;
  if (!node.kwargs.empty()) {
    Ref names =
        Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(node.kwargs.size())));
    if (!names) return false;
    for (size_t i = 0; i < node.kwargs.size(); ++i) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                       Ref::share(node.kwargs[i].name).release());
      if (!operand_of(node.kwargs[i].value, operands.emplace_back())) {
        return false;
      }
    }
    keywords = static_cast<int32_t>(constant_index(std::move(names)));
  }
  Ref target = node.target.share();
  if (node.op == Op::CallFunction) {
    if (PyObject* given = given_for(target)) target = Ref::share(given);
    PyErr_Clear();  // a callable without a hash
  }
  const uint32_t slot = take_slot();
  node_operands_[id.index] = {RunnerOperand::Kind::Slot, slot};
  emit({.code = node.op == Op::CallFunction ? Code::Call : Code::CallMethod,
        .target = constant_index(std::move(target)),
        .keywords = keywords,
        .keyword_count = static_cast<uint32_t>(node.kwargs.size()),
        .result = slot},
       operands);
  release_after(id);
  return true;
}

bool GraphRunner::Compiler::set_results(const Arg& value) {
  runner_.gives_tuple_ = value.tag() == ArgTag::Tuple;
  if (!runner_.gives_tuple_)
    return operand_of(value, runner_.results_.emplace_back());
  for (const Arg& item : value.items())
    if (!operand_of(item, runner_.results_.emplace_back())) return false;
  return true;
}

bool GraphRunner::Compiler::operand_of(const Arg& arg, RunnerOperand& operand) {
  if (arg.is_node()) {
    operand = node_operands_[arg.node().index];
    MG_CHECK(operand.index != kNever, "a node is used before it is computed");
    return true;
  }
  return is_fixed(arg) ? build_constant(arg, operand)
                       : build_fresh(arg, operand);
}

bool GraphRunner::Compiler::build_constant(const Arg& arg,
                                           RunnerOperand& operand) {
  Ref object = make_fixed(arg);
  if (!object) return false;
  operand = constant(std::move(object));
  return true;
}

// Lists and dicts are new at every run: the callee may keep or change them.
bool GraphRunner::Compiler::build_fresh(const Arg& arg,
                                        RunnerOperand& operand) {
  std::vector<RunnerOperand> items;
  items.reserve(arg.items().size());
  for (const Arg& item : arg.items()) {
    if (!operand_of(item, items.emplace_back())) return false;
  }
  Code code = Code::BuildTuple;
  if (arg.tag() == ArgTag::List) code = Code::BuildList;
  if (arg.tag() == ArgTag::Dict) code = Code::BuildDict;
  if (arg.tag() == ArgTag::Slice) code = Code::BuildSlice;
  const uint32_t slot = take_slot();
  temporaries_.push_back(slot);
  emit({.code = code, .keywords = -1, .result = slot}, items);
  operand = {RunnerOperand::Kind::Slot, slot};
  return true;
}

uint32_t GraphRunner::Compiler::constant_index(Ref object) {
  auto [entry, is_new] = constants_.try_emplace(
      object.get(), static_cast<uint32_t>(runner_.constants_.size()));
  if (is_new) runner_.constants_.push_back(std::move(object));
  return entry->second;
}

GraphRunner::RunnerOperand GraphRunner::Compiler::constant(Ref object) {
  return {RunnerOperand::Kind::Constant, constant_index(std::move(object))};
}

uint32_t GraphRunner::Compiler::take_slot() {
  if (free_slots_.empty()) return runner_.slot_count_++;
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void GraphRunner::Compiler::emit(Instruction instruction,
                                 std::span<const RunnerOperand> operands) {
  instruction.node = node_;
  instruction.operands = static_cast<uint32_t>(runner_.operands_.size());
  instruction.operand_count = static_cast<uint32_t>(operands.size());
  instruction.releases = static_cast<uint32_t>(runner_.releases_.size());
  instruction.release_count = 0;
  runner_.operands_.insert(runner_.operands_.end(), operands.begin(),
                           operands.end());
  runner_.max_operands_ =
      std::max(runner_.max_operands_, instruction.operand_count);
  runner_.instructions_.push_back(instruction);
}

// Slots are free for later nodes only once the call that used them last is
// over, so its result never lands in one of its operands.
void GraphRunner::Compiler::release_after(NodeId id) {
  Instruction& last = runner_.instructions_.back();
  auto release = [&](uint32_t slot) {
    runner_.releases_.push_back(slot);
    free_slots_.push_back(slot);
    ++last.release_count;
  };
  for (uint32_t slot : temporaries_) release(slot);
  temporaries_.clear();
  for (uint32_t node : dying_[id.index]) release(node_operands_[node].index);
}

}  // namespace magneto::graph
