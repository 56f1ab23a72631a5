// SPDX-License-Identifier: BSD-3-Clause
// Tensors that the graph computes without a history, and to which it says
// requires_grad_(): leaves in the middle of a graph. To PyTorch's compilers
// these are nobody's leaves, so none is given by a graph.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// requires_grad_() of a tensor, in the graph. The graph breaks where it can't
// be there.
Outcome<V> set_leaf(Context& ctx, V tensor);

// Whether the graph gives such a one, or what has a gradient only by it.
bool gives_set_leaf(Context& ctx);

}  // namespace magneto::values
