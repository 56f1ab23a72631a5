// SPDX-License-Identifier: BSD-3-Clause
// A graph as a Python callable: `magneto._C.GraphFunction`. It takes the
// graph's inputs as positional arguments, through vectorcall.
#pragma once

#include "graph/runner.h"
#include "python/ref.h"

namespace magneto::graph {

// Makes the type and, where `module` isn't null, adds it there. Once a process;
// the type object is never freed. False with a Python error set.
bool init_function_type(PyObject* module);

// Null with a Python error set. Needs init_function_type(). `callables`: see
// GraphRunner's constructor.
Ref make_function(const Graph& graph, PyObject* callables = nullptr);

// The runner of such an object, or null for any other object: CompiledGraph
// runs the graph without a call through Python.
const GraphRunner* runner_of(PyObject* object);

}  // namespace magneto::graph
