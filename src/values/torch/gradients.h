// SPDX-License-Identifier: BSD-3-Clause
// What the trace has written to a tensor's `grad`: in the tensor's heap slot,
// since it stands in no dictionary.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// None, or a tensor; null if nothing was written.
inline V written_gradient(const Context& ctx, V tensor) {
  const auto& slots = ctx.heap[tensor->heap].slots;
  return slots.empty() ? nullptr : slots[0];
}

inline void write_gradient(Context& ctx, V tensor, V gradient) {
  if (ctx.heap[tensor->heap].slots.empty())
    ctx.heap.initial(tensor->heap).slots = {nullptr};
  ctx.heap.set_slot(tensor->heap, 0, gradient);
}

}  // namespace magneto::values
