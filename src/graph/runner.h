// SPDX-License-Identifier: BSD-3-Clause
// Runs a graph without Python code: what `gm.forward` is while nobody has
// edited the graph, and what `backend="eager"` runs.
//
// A runner is made once from a finished graph and shares nothing with it but
// references to the callables and constants, so the graph, with its example
// values, may die. run() is reentrant and may be called by several threads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/state_functions.h"

namespace magneto::graph {

// The call at which a GraphRunner of this thread has failed last. Who runs a
// graph sets it to an invalid id first; it is still invalid if none has failed.
NodeId& failed_call() noexcept;

class GraphRunner {
 public:
  // Builds constant containers, so it may fail with a Python error; the runner
  // then can't run: check ok(). Operators that are given a nested graph get a
  // callable: what the dict `callables` (or null) has by the graph's name, else
  // a function_object of it. What it has by a function is called instead.
  explicit GraphRunner(const Graph& graph, PyObject* callables = nullptr);
  bool ok() const { return ok_; }

  size_t input_count() const { return input_count_; }

  // `inputs`: input_count() borrowed objects, in the order of Graph::inputs().
  // The graph's output, or null with a Python error set. Each value is dropped
  // after its last use. Runs user code.
  Ref run(PyObject* const* inputs) const;
  // The same for a graph that gives a tuple, whose items are written to
  // `outputs` as new references; false with a Python error set.
  bool gives_tuple() const { return gives_tuple_; }
  bool run(std::span<PyObject* const> inputs,
           std::span<PyObject*> outputs) const;

  // For tp_traverse.
  template <class Visit>
  int visit_objects(Visit visit) const {
    for (const Ref& object : constants_) {
      if (!object) continue;
      if (int result = visit(object.get())) return result;
    }
    return 0;
  }
  // For tp_clear: it can't run any more.
  void clear();

 private:
  enum class Code : uint8_t {
    Call,        // target: constant; operands, then values of `keywords`
    CallMethod,  // target: constant name
    BuildTuple,
    BuildList,
    BuildDict,  // key, value, ...
    BuildSlice,
  };
  // Where the value of an operand is found.
  struct RunnerOperand {
    enum class Kind : uint8_t { Input, Constant, Slot };
    Kind kind;
    uint32_t index;
  };
  struct Instruction {
    Code code;
    NodeId node;        // what it computes, or is a part of
    uint32_t target;    // index in constants_
    int32_t keywords;   // index in constants_ of a tuple of names, -1: none
    uint32_t operands;  // first one, in operands_
    uint32_t operand_count;
    uint32_t keyword_count;  // how many of the operands are keywords' values
    uint32_t result;         // slot
    uint32_t releases;       // first one, in releases_
    uint32_t release_count;
  };
  class Compiler;
  class Execution;  // the values of one run

  // All instructions; false with a Python error set.
  bool execute_all(Execution& execution) const;
  Ref execute(const Instruction& instruction, Execution& execution) const;
  bool calls(const Instruction& instruction, const Ref& function) const;
  // After a failure at `failed`: undoes what the calls before it have changed
  // of the thread's state. The Python error stays set.
  void restore_state(const Instruction* failed, bool grad_enabled,
                     Execution& execution) const;
  Ref build(const Instruction& instruction, std::span<PyObject*> items) const;

  bool ok_ = true;
  size_t input_count_ = 0;
  uint32_t slot_count_ = 0;
  uint32_t max_operands_ = 0;
  // What the graph gives: the items of a tuple, or one object.
  bool gives_tuple_ = false;
  std::vector<RunnerOperand> results_;
  std::vector<Instruction> instructions_;
  // Null unless the graph calls one of them.
  StateFunctions state_functions_;
  std::vector<RunnerOperand> operands_;
  std::vector<uint32_t> releases_;  // slots
  std::vector<Ref> constants_;
};

}  // namespace magneto::graph
