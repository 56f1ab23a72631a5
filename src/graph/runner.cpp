// SPDX-License-Identifier: BSD-3-Clause
// The hot loop. One pass over flat instructions; values live in slots of a
// buffer on the C stack.
#include "graph/runner.h"

#include <array>
#include <memory>

#include "graph/runner_compiler.h"
#include "python/pending_error.h"
#include "python/sequences.h"

namespace magneto::graph {

namespace {

// `count` default-made items, on the stack while they are few.
template <class T, size_t kInline>
class Buffer {
 public:
  explicit Buffer(size_t count) {
    if (count > kInline) heap_ = std::make_unique<T[]>(count);
    items_ = heap_ ? heap_.get() : inline_.data();
  }
  T* data() { return items_; }

 private:
  std::array<T, kInline> inline_{};
  std::unique_ptr<T[]> heap_;
  T* items_;
};

}  // namespace

class GraphRunner::Execution {
 public:
  Execution(const GraphRunner& runner, PyObject* const* inputs)
      : runner_(runner),
        inputs_(inputs),
        slots_(runner.slot_count_),
        arguments_(runner.max_operands_ + 1) {}

  PyObject* read(RunnerOperand operand) {
    switch (operand.kind) {
      case RunnerOperand::Kind::Input:
        return inputs_[operand.index];
      case RunnerOperand::Kind::Constant:
        return runner_.constants_[operand.index].get();
      case RunnerOperand::Kind::Slot:
        return slots_.data()[operand.index].get();
    }
    return nullptr;
  }
  Ref& slot(uint32_t index) { return slots_.data()[index]; }

  // The operands' values, with a free place before the first one, as
  // PY_VECTORCALL_ARGUMENTS_OFFSET promises to callees.
  std::span<PyObject*> load(const Instruction& instruction) {
    PyObject** arguments = arguments_.data() + 1;
    const RunnerOperand* operands =
        runner_.operands_.data() + instruction.operands;
    for (uint32_t i = 0; i < instruction.operand_count; ++i) {
      arguments[i] = read(operands[i]);
    }
    return {arguments, instruction.operand_count};
  }

 private:
  const GraphRunner& runner_;
  PyObject* const* inputs_;
  Buffer<Ref, 32> slots_;
  Buffer<PyObject*, 16> arguments_;
};

NodeId& failed_call() noexcept {
  thread_local NodeId node;
  return node;
}

GraphRunner::GraphRunner(const Graph& graph, PyObject* callables) {
  ok_ = Compiler(graph, callables, *this).run();
  StateFunctions functions = find_state_functions();
  for (const Instruction& instruction : instructions_) {
    if (calls(instruction, functions.set_grad_enabled) ||
        calls(instruction, functions.enter_autocast)) {
      state_functions_ = std::move(functions);
      return;
    }
  }
}

void GraphRunner::clear() {
  ok_ = false;
  std::vector<Ref> constants = std::move(constants_);
  constants_.clear();
}

Ref GraphRunner::run(PyObject* const* inputs) const {
  Execution execution(*this, inputs);
  if (!execute_all(execution)) return nullptr;
  if (!gives_tuple_) return Ref::share(execution.read(results_[0]));
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(results_.size())));
  for (size_t i = 0; tuple && i < results_.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     Ref::share(execution.read(results_[i])).release());
  return tuple;
}

bool GraphRunner::run(std::span<PyObject* const> inputs,
                      std::span<PyObject*> outputs) const {
  MG_CHECK(gives_tuple_ && inputs.size() == input_count_ &&
               outputs.size() == results_.size(),
           "a graph is run with its inputs, for its outputs");
  Execution execution(*this, inputs.data());
  if (!execute_all(execution)) return false;
  for (size_t i = 0; i < results_.size(); ++i)
    outputs[i] = Ref::share(execution.read(results_[i])).release();
  return true;
}

bool GraphRunner::execute_all(Execution& execution) const {
  if (!ok_) {
    PyErr_SetString(PyExc_RuntimeError, "this graph can't be run any more");
    return false;
  }
  bool grad_enabled = false;
  if (state_functions_.is_grad_enabled) {
    Ref mode =
        Ref::steal(PyObject_CallNoArgs(state_functions_.is_grad_enabled));
    grad_enabled = mode.get() == Py_True;
  }
  for (const Instruction& instruction : instructions_) {
    Ref result = execute(instruction, execution);
    if (!result) {
      failed_call() = instruction.node;
      if (state_functions_.is_grad_enabled)
        restore_state(&instruction, grad_enabled, execution);
      return false;
    }
    execution.slot(instruction.result) = std::move(result);
    for (uint32_t i = 0; i < instruction.release_count; ++i) {
      execution.slot(releases_[instruction.releases + i]) = nullptr;
    }
  }
  return true;
}

bool GraphRunner::calls(const Instruction& instruction,
                        const Ref& function) const {
  return function && instruction.code == Code::Call &&
         constants_[instruction.target].get() == function.get();
}

void GraphRunner::restore_state(const Instruction* failed, bool grad_enabled,
                                Execution& execution) const {
  python::PendingError error = python::PendingError::take();
  const StateFunctions& functions = state_functions_;
  std::vector<uint32_t> entered;
  for (const Instruction* it = instructions_.data(); it != failed; ++it) {
    if (calls(*it, functions.enter_autocast))
      entered.push_back(it->result);
    else if (calls(*it, functions.exit_autocast))
      std::erase(entered, operands_[it->operands].index);
  }
  for (; !entered.empty(); entered.pop_back()) {
    Ref left = Ref::steal(PyObject_CallOneArg(functions.exit_autocast,
                                              execution.slot(entered.back())));
    if (!left) PyErr_Clear();
  }
  Ref set = Ref::steal(PyObject_CallOneArg(functions.set_grad_enabled,
                                           grad_enabled ? Py_True : Py_False));
  if (!set) PyErr_Clear();
  std::move(error).restore();
}

Ref GraphRunner::execute(const Instruction& instruction,
                         Execution& execution) const {
  std::span<PyObject*> arguments = execution.load(instruction);
  if (instruction.code > Code::CallMethod) {
    return build(instruction, arguments);
  }
  PyObject* target = constants_[instruction.target].get();
  PyObject* keywords = instruction.keywords < 0
                           ? nullptr
                           : constants_[instruction.keywords].get();
  const size_t count = (instruction.operand_count - instruction.keyword_count) |
                       PY_VECTORCALL_ARGUMENTS_OFFSET;
  if (instruction.code == Code::Call) {
    return Ref::steal(
        PyObject_Vectorcall(target, arguments.data(), count, keywords));
  }
  return Ref::steal(
      PyObject_VectorcallMethod(target, arguments.data(), count, keywords));
}

Ref GraphRunner::build(const Instruction& instruction,
                       std::span<PyObject*> items) const {
  switch (instruction.code) {
    case Code::BuildTuple:
      return python::tuple_of(items);
    case Code::BuildList:
      return python::list_of(items);
    case Code::BuildDict: {
      Ref dict = Ref::steal(PyDict_New());
      for (size_t i = 0; dict && i < items.size(); i += 2) {
        if (PyDict_SetItem(dict, items[i], items[i + 1]) < 0) return nullptr;
      }
      return dict;
    }
    case Code::BuildSlice:
      return Ref::steal(PySlice_New(items[0], items[1], items[2]));
    case Code::Call:
    case Code::CallMethod:
      break;
  }
  MG_CHECK(false, "not a building instruction");
}

}  // namespace magneto::graph
