// SPDX-License-Identifier: BSD-3-Clause
// Functions of torch's whose backward is one of its own.
#include "natives/torch/rows.h"
#include "tensor/ambient.h"

namespace magneto::natives {

namespace {

// Whether a tensor of the CPU is among these values that needs gradients.
Outcome<bool> holds_differentiated(Context& ctx, std::span<const V> values) {
  constexpr int8_t kCpu = 0;  // c10::DeviceType::CPU
  for (V value : values) {
    value = ctx.look(value);
    if (value->kind == Kind::Tensor) {
      PyObject* fake = fake_of(value);
      if (tensor::requires_grad(fake) && tensor::device(fake).first == kCpu)
        return true;
    }
    if (value->kind != Kind::Tuple && value->kind != Kind::List) continue;
    std::vector<V> items;
    MG_DO(unpack(ctx, value, items));
    MG_TRY(const bool holds, holds_differentiated(ctx, items));
    if (holds) return true;
  }
  return false;
}

// What autograd keeps for an LSTM on a CPU has parts that aren't there, at
// which PyTorch's compilers fail: they say so, and then the graph breaks.
Outcome<V> long_short_term_memory(Context& ctx, const Arguments& args) {
  ctx.guards.ambient(guards::Ambient::GradMode);
  if (tensor::grad_mode()) {
    MG_TRY(const bool holds, holds_differentiated(ctx, args.positional));
    ctx.has_lstm = ctx.has_lstm || holds;
    if (holds && !ctx.takes_lstm)
      return ctx.graph_break(
          "autograd-function",
          "an LSTM on a CPU, applied to tensors that need gradients",
          "it runs as it does without a compiler");
  }
  return record_function(ctx, object_at<"torch.lstm">(), args);
}

constexpr Row kRows[] = {
    {"torch", "lstm", long_short_term_memory, 0, kAny, "*"},
};

}  // namespace

std::span<const Row> torch_autograd_rows() { return kRows; }

}  // namespace magneto::natives
