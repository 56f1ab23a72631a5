// SPDX-License-Identifier: BSD-3-Clause
#include "entry/assertions.h"

#include <algorithm>

#include "python/find.h"
#include "python/handled.h"
#include "support/check.h"

namespace magneto::entry {

std::vector<Assertion> assertions_of(const graph::Graph& graph) {
  static PyObject* const function =
      find_object("torch.ops.aten._assert_scalar.default");
  std::vector<Assertion> found;
  for (const graph::Node& node : graph.nodes()) {
    if (node.erased || node.op != graph::Op::CallFunction ||
        node.target.get() != function || node.args[1].is_node())
      continue;
    const char* text = PyUnicode_AsUTF8(node.args[1].constant());
    MG_CHECK(text, "the text of an assertion");
    Assertion& each = found.emplace_back(Assertion{text, {}});
    for (graph::LocationId id = node.origin.location; id.valid();
         id = each.frames.back().caller) {
      const graph::Location& location = graph.locations()[id.index];
      each.frames.push_back(
          {location.code.share(), location.instruction, location.caller});
    }
  }
  return found;
}

namespace {

Ref traceback_of(const Assertion& assertion, Ref next, PyObject* globals) {
  for (const graph::Location& frame : assertion.frames) {
    const int unit = frame.instruction / static_cast<int>(sizeof(_Py_CODEUNIT));
    next = Ref::steal(PyObject_CallFunction(python::traceback_maker(), "OOiOi",
                                            frame.code.get(), globals, unit,
                                            next ? next.get() : Py_None, unit));
    if (!next) return nullptr;
  }
  return next;
}

}  // namespace

void add_frames(python::PendingError& error,
                std::span<const Assertion> assertions, PyObject* globals) {
  if (assertions.empty() || !error.is(PyExc_RuntimeError)) return;
  const std::string text = error.text();
  const auto found = std::ranges::find(assertions, text, &Assertion::text);
  if (found == assertions.end()) return;
  Ref traceback = traceback_of(*found, Ref::share(error.traceback()), globals);
  PyErr_Clear();  // the error counts, with or without more frames
  if (traceback) error.set_traceback(std::move(traceback));
}

}  // namespace magneto::entry
