// SPDX-License-Identifier: BSD-3-Clause
#include "entry/report/call_places.h"

#include <algorithm>

#include "graph/runner.h"
#include "python/code_units.h"
#include "python/find.h"
#include "python/shown_frame.h"
#include "support/check.h"

namespace magneto::entry {

CallPlaces::CallPlaces(const graph::Graph& graph) {
  static PyObject* const assertion =
      find_object("torch.ops.aten._assert_scalar.default");
  for (const graph::Location& location : graph.locations()) {
    Ref code = Ref::steal(PyWeakref_NewRef(
        reinterpret_cast<PyObject*>(location.code.get()), nullptr));
    MG_CHECK(code, "code objects can be referred to weakly");
    locations_.push_back(
        {std::move(code), location.instruction, location.caller});
  }
  for (const graph::Node& node : graph.nodes()) {
    node_locations_.push_back(node.origin.location);
    if (node.erased || node.op != graph::Op::CallFunction ||
        node.target.get() != assertion || node.args[1].is_node())
      continue;
    const char* text = PyUnicode_AsUTF8(node.args[1].constant());
    MG_CHECK(text, "the text of an assertion");
    assertions_.emplace_back(text, node.origin.location);
  }
}

graph::LocationId CallPlaces::failed(python::PendingError& error) const {
  const graph::NodeId call = graph::failed_call();
  if (call.valid() && call.index < node_locations_.size())
    return node_locations_[call.index];
  if (assertions_.empty() || !error.is(PyExc_RuntimeError)) return {};
  const std::string text = error.text();
  for (const auto& [asserted, location] : assertions_)
    if (asserted == text) return location;
  return {};
}

int CallPlaces::add_frames(python::PendingError& error, PyObject* globals,
                           bool of_inlined) const {
  Ref traceback = Ref::share(error.traceback());
  int unit = -1;
  for (graph::LocationId at = failed(error); at.valid();
       at = locations_[at.index].caller) {
    const WeakLocation& location = locations_[at.index];
    unit = python::unit_of(location.instruction);
    if (of_inlined && !location.caller.valid()) break;
    traceback = python::make_traceback(
        traceback ? traceback.get() : Py_None,
        reinterpret_cast<PyCodeObject*>(PyWeakref_GetObject(location.code)),
        globals, unit);
    if (!traceback) {
      PyErr_Clear();  // the error counts, with or without more frames
      return -1;
    }
  }
  if (traceback) error.set_traceback(std::move(traceback));
  return unit;
}

}  // namespace magneto::entry
