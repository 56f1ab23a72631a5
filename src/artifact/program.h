// SPDX-License-Identifier: BSD-3-Clause
// A direct program: what a compiled entry does on a hit, as a list of steps
// that C++ runs without a Python frame: call the compiled graph, rebuild the
// values that the frame returns (or has on its stack and in its locals where
// the graph broke), replay the effects in order.
//
// Plain data. Made once by a DirectProgramBuilder, run from several threads
// (with the GIL) and re-entrantly.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/compiled_graph.h"
#include "python/ref.h"
#include "values/model/step_writer.h"

namespace magneto::artifact {

using values::StepOp;

// Stands for NULL among a step's operands. Lives as long as the process.
PyObject* null_token();

// Where an operand is found: a slot (>= 0) or a constant (~index).
using SlotOrConstant = int32_t;

constexpr size_t constant_index(SlotOrConstant operand) {
  const SlotOrConstant index = ~operand;
  return static_cast<size_t>(index);
}

struct Step {
  StepOp op;
  uint32_t first;  // operands: [first, first + count) of the program's list
  uint32_t count;
  SlotOrConstant target;  // slot, or -1
};

// How a run ended; unless Done, a Python error is set.
enum class RunEnd : uint8_t {
  Done,
  GraphFailed,  // nothing has been done but what the graph did
  Failed,
};

class DirectProgram {
 public:
  DirectProgram(DirectProgram&&) = default;
  DirectProgram& operator=(DirectProgram&&) = default;

  // Slots that run() works in. The first input_count() are the inputs, the
  // graph's first.
  size_t slot_count() const { return slot_count_; }
  size_t input_count() const { return input_count_; }
  size_t graph_input_count() const { return graph_input_count_; }
  size_t graph_output_count() const { return graph_output_count_; }
  size_t result_count() const { return results_.size(); }

  // The compiled graph; needed before run() if calls_graph().
  bool calls_graph() const { return calls_graph_; }
  void set_graph(std::unique_ptr<graph::CompiledGraph> graph) {
    graph_ = std::move(graph);
  }
  // Null if there is none.
  const graph::CompiledGraph* graph() const { return graph_.get(); }

  // `slots`: slot_count() slots, and a free one before the first that the
  // callee may use. The inputs are filled in as borrowed references; what the
  // other slots hold doesn't matter. Writes result_count() new references to
  // `results` when Done. Runs user code: the compiled graph, and finalizers.
  RunEnd run(PyObject** slots, PyObject** results) const noexcept;

  // As text, for logs and tests: one line for each step. Stable.
  std::string print() const;

 private:
  friend class DirectProgramBuilder;
  friend class Run;
  DirectProgram() = default;

  std::vector<Step> steps_;
  std::vector<SlotOrConstant> operands_;
  std::vector<SlotOrConstant> results_;
  std::vector<Ref> constants_;
  std::unique_ptr<graph::CompiledGraph> graph_;
  size_t slot_count_ = 0;
  size_t input_count_ = 0;
  size_t graph_input_count_ = 0;
  size_t graph_output_count_ = 0;
  bool calls_graph_ = false;
};

// What an operand is while the program is still being written: which inputs the
// graph keeps isn't known yet, so finish() assigns the slots.
class Operand {
 public:
  friend bool operator==(Operand, Operand) = default;

 private:
  friend class DirectProgramBuilder;
  enum class Kind : uint8_t { Constant, Input, GraphOutput, Temporary };
  Operand(Kind kind, size_t index)
      : kind_(kind), index_(static_cast<uint32_t>(index)) {}
  Kind kind_;
  uint32_t index_;
};

class DirectProgramBuilder {
 public:
  DirectProgramBuilder() = default;
  DirectProgramBuilder(const DirectProgramBuilder&) = delete;

  Operand constant(Ref object);
  Operand constant(PyObject* borrowed) {
    return constant(Ref::share(borrowed));
  }
  // The n-th of the inputs that come after the graph's.
  Operand input(size_t n);
  // The n-th output of the graph.
  Operand graph_output(size_t n);
  // The graph is called where this stands; once.
  void call_graph();
  Operand make(StepOp op, std::span<const Operand> operands);
  Operand make(StepOp op, std::initializer_list<Operand> operands) {
    return make(op, std::span(operands.begin(), operands.size()));
  }
  void act(StepOp op, std::span<const Operand> operands);
  void act(StepOp op, std::initializer_list<Operand> operands) {
    act(op, std::span(operands.begin(), operands.size()));
  }
  void result(Operand operand) { results_.push_back(operand); }

  // The graph takes `graph_inputs` arguments; without outputs and without
  // `graph_has_calls` it isn't called. The builder is used up.
  DirectProgram finish(size_t graph_inputs, bool graph_has_calls);

 private:
  struct PendingStep {
    StepOp op;
    uint32_t first;
    uint32_t count;
    int32_t temporary;  // -1: none
  };
  void add(StepOp op, std::span<const Operand> operands, int32_t temporary);

  std::vector<PendingStep> steps_;
  std::vector<Operand> operands_;
  std::vector<Operand> results_;
  std::vector<Ref> constants_;
  size_t inputs_ = 0;
  size_t graph_outputs_ = 0;
  size_t temporaries_ = 0;
  bool calls_graph_ = false;
};

}  // namespace magneto::artifact
