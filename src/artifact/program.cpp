// SPDX-License-Identifier: BSD-3-Clause
// Writing and printing direct programs; run.cpp runs them.
#include "artifact/program.h"

#include <algorithm>
#include <array>

#include "support/check.h"

namespace magneto::artifact {
namespace {

struct StepInfo {
  const char* name;
  bool has_result;
};
constexpr std::array kSteps{
#define MG_STEP(name, result) StepInfo{#name, result != 0},
#include "values/model/steps.def"
#undef MG_STEP
};

const StepInfo& info(StepOp op) { return kSteps[static_cast<size_t>(op)]; }

std::string text_of(PyObject* constant) {
  if (PyType_Check(constant))
    return reinterpret_cast<PyTypeObject*>(constant)->tp_name;
  // Only for objects whose repr is C code and shows no address.
  if (constant == Py_None || PyLong_CheckExact(constant) ||
      PyUnicode_CheckExact(constant) || PyFloat_CheckExact(constant) ||
      PyBool_Check(constant)) {
    Ref repr = Ref::steal(PyObject_Repr(constant));
    const char* text = repr ? PyUnicode_AsUTF8(repr) : nullptr;
    if (text) return text;
    PyErr_Clear();
  }
  return std::string("<") + Py_TYPE(constant)->tp_name + ">";
}

}  // namespace

// -- writing ------------------------------------------------------------------

Operand DirectProgramBuilder::constant(Ref object) {
  MG_CHECK(object, "a constant is an object");
  for (size_t i = 0; i < constants_.size(); ++i)
    if (constants_[i].get() == object.get())
      return {Operand::Kind::Constant, i};
  constants_.push_back(std::move(object));
  return {Operand::Kind::Constant, constants_.size() - 1};
}

Operand DirectProgramBuilder::input(size_t n) {
  inputs_ = std::max(inputs_, n + 1);
  return {Operand::Kind::Input, n};
}

Operand DirectProgramBuilder::graph_output(size_t n) {
  graph_outputs_ = std::max(graph_outputs_, n + 1);
  return {Operand::Kind::GraphOutput, n};
}

void DirectProgramBuilder::call_graph() {
  MG_CHECK(!calls_graph_, "a program calls the graph once");
  calls_graph_ = true;
  add(StepOp::CallGraph, {}, -1);
}

Operand DirectProgramBuilder::make(StepOp op,
                                   std::span<const Operand> operands) {
  MG_CHECK(info(op).has_result, "this step makes nothing");
  const size_t temporary = temporaries_++;
  add(op, operands, static_cast<int32_t>(temporary));
  return {Operand::Kind::Temporary, temporary};
}

void DirectProgramBuilder::act(StepOp op, std::span<const Operand> operands) {
  MG_CHECK(!info(op).has_result, "what this step makes would be lost");
  add(op, operands, -1);
}

void DirectProgramBuilder::add(StepOp op, std::span<const Operand> operands,
                               int32_t temporary) {
  steps_.push_back({op, static_cast<uint32_t>(operands_.size()),
                    static_cast<uint32_t>(operands.size()), temporary});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
}

DirectProgram DirectProgramBuilder::finish(size_t graph_inputs,
                                           bool graph_has_calls) {
  const bool calls_graph =
      calls_graph_ && (graph_has_calls || graph_outputs_ != 0);
  MG_CHECK(calls_graph || graph_outputs_ == 0,
           "outputs of a graph need a call of it");
  // Slots: the graph's inputs, the other inputs, the graph's outputs,
  // temporaries.
  const size_t outputs = graph_inputs + inputs_;
  const size_t temporaries = outputs + graph_outputs_;
  auto assign = [&](Operand operand) -> SlotOrConstant {
    const auto index = static_cast<SlotOrConstant>(operand.index_);
    switch (operand.kind_) {
      case Operand::Kind::Constant:
        return ~index;
      case Operand::Kind::Input:
        return static_cast<SlotOrConstant>(graph_inputs) + index;
      case Operand::Kind::GraphOutput:
        return static_cast<SlotOrConstant>(outputs) + index;
      case Operand::Kind::Temporary:
        return static_cast<SlotOrConstant>(temporaries) + index;
    }
    return -1;
  };
  DirectProgram program;
  program.slot_count_ = temporaries + temporaries_;
  program.input_count_ = outputs;
  program.graph_input_count_ = graph_inputs;
  program.graph_output_count_ = graph_outputs_;
  program.calls_graph_ = calls_graph;
  program.operands_.reserve(operands_.size());
  for (Operand operand : operands_)
    program.operands_.push_back(assign(operand));
  for (Operand operand : results_) program.results_.push_back(assign(operand));
  for (const PendingStep& step : steps_) {
    SlotOrConstant target = -1;
    if (step.op == StepOp::CallGraph && !calls_graph) continue;
    if (step.op == StepOp::CallGraph)
      target = static_cast<SlotOrConstant>(outputs);
    if (step.temporary >= 0)
      target = static_cast<SlotOrConstant>(temporaries) + step.temporary;
    program.steps_.push_back({step.op, step.first, step.count, target});
  }
  program.constants_ = std::move(constants_);
  return program;
}

// -- printing -----------------------------------------------------------------

std::string DirectProgram::print() const {
  auto name = [&](SlotOrConstant operand) -> std::string {
    if (operand < 0) return text_of(constants_[constant_index(operand)]);
    const auto slot = static_cast<size_t>(operand);
    if (slot < graph_input_count_) return "graph_input" + std::to_string(slot);
    if (slot < input_count_)
      return "input" + std::to_string(slot - graph_input_count_);
    if (slot < input_count_ + graph_output_count_)
      return "output" + std::to_string(slot - input_count_);
    return "t" + std::to_string(slot - input_count_ - graph_output_count_);
  };
  std::string text;
  for (const Step& step : steps_) {
    if (info(step.op).has_result && step.op != StepOp::CallGraph)
      text += name(step.target) + " = ";
    text += info(step.op).name;
    text += "(";
    for (uint32_t i = 0; i < step.count; ++i) {
      if (i) text += ", ";
      text += name(operands_[step.first + i]);
    }
    text += ")\n";
  }
  text += "results";
  for (SlotOrConstant result : results_) text += " " + name(result);
  return text + "\n";
}

}  // namespace magneto::artifact
