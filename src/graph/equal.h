// SPDX-License-Identifier: BSD-3-Clause
// Whether two graphs are the same but for the values they are given.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace magneto::graph {

// Whether a call may be given the one graph in the place of the other: both
// make the same calls, with the same constants, of inputs in the same order,
// and for each input and each call `is_alike` says of the two examples (either
// may be null) that they are.
bool are_equal(
    const Graph& first, const Graph& second,
    const std::function<bool(PyObject* first, PyObject* second)>& is_alike);

}  // namespace magneto::graph
