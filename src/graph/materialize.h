// SPDX-License-Identifier: BSD-3-Clause
// The graph as Python objects, for `magneto._C.Graph`'s methods (see there for
// what each returns). All return null with a Python error set on failure.
#pragma once

#include <functional>

#include "graph/graph.h"
#include "graph/names.h"

namespace magneto::graph {

Ref build(const Graph& graph, const Names& names, PyObject* create);
Ref list_inputs(const Graph& graph, const Names& names);
Ref list_attribute_paths(const Graph& graph);
Ref list_names(const std::vector<std::string>& names);
Ref list_examples(const Graph& graph);
Ref list_input_examples(const Graph& graph);
Ref list_origins(const Graph& graph);
Ref list_locations(const Graph& graph);
Ref list_scopes(const Graph& graph);
Ref attributes(const Graph& graph);
Ref targets(const Graph& graph);
// make(nested) for each graph that the graph reads, by name.
Ref nested_graphs(const Graph& graph,
                  const std::function<Ref(const Graph& nested)>& make);
Ref list_callers(const Graph& graph, const Names& names);

}  // namespace magneto::graph
