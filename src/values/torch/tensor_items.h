// SPDX-License-Identifier: BSD-3-Clause
// Tensors subscripted: calls of operator.getitem and setitem in the graph.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

Outcome<V> get_tensor_item(Context& ctx, V tensor, V key);
Status set_tensor_item(Context& ctx, V tensor, V key, V value);

}  // namespace magneto::values
