// SPDX-License-Identifier: BSD-3-Clause
// What a type says of a compiled piece: which steps fill an object that the
// piece has made, or write to an input what the trace has written to it.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "values/model/break_info.h"
#include "values/model/value.h"

namespace magneto::values {

struct SuspendedFrame;

// What a direct program consists of (artifact/program.h).
enum class StepOp : uint8_t {
#define MG_STEP(name, result) name,
#include "values/model/steps.def"
#undef MG_STEP
};

// Thrown where a value can't be built, or a write not be repeated, in a
// compiled piece; the graph then breaks earlier.
struct CannotRebuild {
  BreakInfo why;
};
[[noreturn]] void cannot_rebuild(const std::string& what);

// Implemented by artifact/. Operands are built in their order, before the step
// that takes them.
class StepWriter {
 public:
  // A null operand is CPython's NULL.
  virtual void act(StepOp op, std::span<const V> operands) = 0;
  void act(StepOp op, std::initializer_list<V> operands) {
    act(op, std::span(operands.begin(), operands.size()));
  }
  // Calls for what that does to its arguments.
  virtual void call(V callable, std::span<const V> arguments) = 0;
  void call(V callable, std::initializer_list<V> arguments) {
    call(callable, std::span(arguments.begin(), arguments.size()));
  }
  // Makes the value, if it isn't made yet.
  virtual void make(V value) = 0;
  // Of what is only there for tools to look at: whether it can be had without
  // a graph break that nothing else needs.
  virtual bool is_easily_built(V value) const = 0;
  virtual const SuspendedFrame& suspended(V generator) const = 0;
  // Frame objects are shown to the program.
  virtual void show_frames() = 0;

 protected:
  ~StepWriter() = default;
};

}  // namespace magneto::values
