// SPDX-License-Identifier: BSD-3-Clause
// What a graph records as one call, named one by one in graph.def.
#include "natives/registry.h"
#include "support/torch_release.h"

namespace magneto::natives {

namespace {

constexpr Row kRows[] = {
#define MG_TORCH_FUNCTION(module, name) row::function(module, name),
#define MG_TORCH_METHOD(module, name) row::method(module, name),
#include "natives/torch/graph.def"
#undef MG_TORCH_FUNCTION
#undef MG_TORCH_METHOD
};

}  // namespace

std::span<const Row> torch_graph_rows() { return kRows; }

}  // namespace magneto::natives
