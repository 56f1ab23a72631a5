// SPDX-License-Identifier: BSD-3-Clause
// What a graph asserts in the program's own words (torch._check). Where a graph
// can't be run again in plain Python, what it raises is the program's error;
// the frames in which the program says it are added to the traceback.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "python/pending_error.h"

namespace magneto::entry {

struct Assertion {
  std::string text;
  std::vector<graph::Location> frames;  // the innermost first
};

std::vector<Assertion> assertions_of(const graph::Graph& graph);

// `globals`: those of the outermost frame.
void add_frames(python::PendingError& error,
                std::span<const Assertion> assertions, PyObject* globals);

}  // namespace magneto::entry
