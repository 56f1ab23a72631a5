// SPDX-License-Identifier: BSD-3-Clause
// Functions with a backward of their own.
#include "natives/torch_rows.h"
#include "tensor/ambient.h"

namespace magneto::natives {

namespace {

bool is_differentiated(Context& ctx, const Arguments& args) {
  ctx.guards.ambient(guards::Ambient::GradMode);
  if (!tensor::grad_mode()) return false;
  for (V value : args.positional) {
    value = ctx.look(value);
    if (value->kind == Kind::Tensor &&
        tensor::requires_grad(as<TensorValue>(value)->fake))
      return true;
  }
  return false;
}

// torch.autograd.Function.apply: (cls, *args). Autograd would call the backward
// of a node in the graph, and a graph can't hold a class of the user's; where
// nothing is differentiated, there is only the forward.
Outcome<V> apply_function(Context& ctx, const Arguments& args) {
  if (args.has_keywords() || is_differentiated(ctx, args))
    return ctx.graph_break(
        "autograd-function",
        "a torch.autograd.Function, applied to tensors that need gradients",
        "its forward and its backward are compiled, each for itself");
  return call_polyfill(ctx, "torch_autograd.function_apply", args);
}

constexpr Row kRows[] = {
    {"torch.autograd.function", "Function.apply", apply_function, 1, kAny, "*"},
};

}  // namespace

std::span<const Row> torch_autograd_rows() { return kRows; }

}  // namespace magneto::natives
