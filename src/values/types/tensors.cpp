// SPDX-License-Identifier: BSD-3-Clause
// Tensors as objects that are written to; operations in place are in the graph.
#include "tensor/fake_tensor.h"
#include "values/protocol/protocol.h"
#include "values/torch/gradients.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

Outcome<V> stored_length(Context& ctx, V tensor) {
  if (tensor::dim(fake_of(tensor)) == 0)
    return ctx.raise(PyExc_TypeError, "len() of a 0-d tensor");
  return first_size(ctx, tensor);
}

void set_gradient(Context& ctx, V tensor, StepWriter& writer) {
  if (V gradient = written_gradient(ctx, tensor))
    writer.act(StepOp::SetGradient, {tensor, gradient});
}

}  // namespace

std::span<const TypeRow> tensor_types() {
  static const TypeRow rows[] = {
      {.kind = Kind::Tensor,
       .length = stored_length,
       .fill = set_gradient,
       .replay = set_gradient},
  };
  return rows;
}

}  // namespace magneto::values
