// SPDX-License-Identifier: BSD-3-Clause
// `magneto._C.Graph`: a finished graph as a Python object, from which the
// Python side makes torch.fx graphs when somebody wants one.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "python/ref.h"

namespace magneto::graph {

// Makes the types Graph and GraphFunction and, where `module` isn't null, adds
// them there. Once a process; type objects are never freed. False with a Python
// error set.
bool init_types(PyObject* module);

// Takes the graph over; seals it. Null with a Python error set.
Ref make_handle(std::unique_ptr<Graph> graph);

// The graph of a handle, or null (without a Python error) for anything else.
Graph* graph_of(PyObject* handle);

}  // namespace magneto::graph
