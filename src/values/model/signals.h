// SPDX-License-Identifier: BSD-3-Clause
// How a step ends without a value: by an exception of the traced program, or a
// graph break.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/outcome.h"
#include "values/model/break_info.h"
#include "values/model/value.h"

namespace magneto::values {

class Context;

class Signals {
 public:
  Signal raise(PyObject* type, const std::string& message);
  Signal raise_value(V exception);
  // The C-API's error indicator becomes a traced exception.
  Signal raise_from_python();
  Signal graph_break(Reason reason, std::string detail = "",
                     std::string hint = "");
  Signal graph_break(const BreakException& found);
  // The whole frame runs in plain Python.
  Signal skip(Reason reason, std::string detail, std::string hint);
  V exception() const { return exception_; }  // after Signal::Raised
  V take_exception();
  // After a rollback: restores the exception that is under way (or null). The
  // reason of the break is kept.
  void restore_exception(V exception) { exception_ = exception; }
  // True if the pending exception is an instance of `type`.
  bool exception_is(PyObject* type) const;
  const BreakInfo& break_info() const { return break_; }  // after Signal::Break
  // Where a call of the graph stands, as BreakInfo::stack.
  std::vector<FrameSummary> stack_of(graph::LocationId location) const;
  // Where the exception was raised, as BreakInfo::stack.
  std::vector<FrameSummary> exception_stack() const;

 protected:
  Signals() = default;

 private:
  // The trace that this is a part of.
  Context& whole();
  const Context& whole() const;

  V exception_ = nullptr;
  graph::LocationId raised_at_;
  BreakInfo break_;
};

}  // namespace magneto::values
