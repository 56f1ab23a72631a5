// SPDX-License-Identifier: BSD-3-Clause
// Tells the observer what a trace does while it does it: each call that goes
// into the graph, each function that is met. For logs (trace_call) and explain.
#pragma once

#include "entry/cache.h"
#include "values/model/context.h"

namespace magneto::entry {

// Installed in the context while it lives, if an observer wants to hear.
class TraceReport final : public values::Witness, public graph::CallListener {
 public:
  TraceReport(const CodeCache& cache, values::Context& ctx);
  ~TraceReport();
  TraceReport(const TraceReport&) = delete;

  void met(PyObject* function, Decision decision, const char* why) override;
  void recorded(const graph::Graph& graph, graph::NodeId call) override;

 private:
  const CodeCache& cache_;
  values::Context& ctx_;
  const bool is_on_;
  bool has_skipped_ = false;
};

}  // namespace magneto::entry
