// SPDX-License-Identifier: BSD-3-Clause
#include "entry/report/trace_report.h"

#include "entry/report/report.h"
#include "tensor/fake_tensor.h"

namespace magneto::entry {

TraceReport::TraceReport(const CodeCache& cache, values::Context& ctx)
    : cache_(cache), ctx_(ctx), is_on_(is_trace_observed()) {
  if (!is_on_) return;
  ctx_.witness = this;
  ctx_.tracer.root().set_listener(this);
}

TraceReport::~TraceReport() {
  if (!is_on_) return;
  ctx_.witness = nullptr;
  ctx_.tracer.root().set_listener(nullptr);
}

void TraceReport::met(PyObject* function, Decision decision, const char* why) {
  const bool skips = decision == Decision::Skip;
  // A break passes through the callers of the function that it is about.
  if (skips && std::exchange(has_skipped_, true)) return;
  tensor::RealModeScope real;
  Details details;
  details.add("met", function)
      .add("decision", std::string(skips ? "skip" : "inline"))
      .add("why", std::string(why));
  report("met", cache_, details);
}

void TraceReport::recorded(const graph::Graph& graph, graph::NodeId call) {
  tensor::RealModeScope real;
  const graph::Node& node = graph.node(call);
  Details details;
  details.add("target", node.target.get())
      .add("is_method", node.op == graph::Op::CallMethod ? Py_True : Py_False);
  if (node.origin.location.valid()) {
    const graph::Location& at = graph.locations()[node.origin.location.index];
    details.add("filename", at.code.get()->co_filename)
        .add("function", at.code.get()->co_qualname)
        .add("line",
             static_cast<int64_t>(PyCode_Addr2Line(at.code, at.instruction)));
  }
  report("call", cache_, details);
}

}  // namespace magneto::entry
