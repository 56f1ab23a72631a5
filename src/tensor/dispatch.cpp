// SPDX-License-Identifier: BSD-3-Clause
// Everything that torch does with fake tensors below autograd arrives here.
#include "tensor/dispatch.h"

#include "tensor/composite.h"
#include "tensor/errors.h"
#include "tensor/metadata_log.h"
#include "tensor/number_limits.h"
#include "tensor/op_info.h"
#include "tensor/operator_effects.h"
#include "tensor/out_variants.h"
#include "tensor/overlap.h"
#include "tensor/python_fallback.h"

namespace magneto::tensor {
namespace {

// A real tensor may be looked at (it counts as a constant), but not written to
// while tracing; a fake one leaves an undo record.
void prepare_write(const OpInfo& op, const c10::IValue& argument) {
  auto prepare = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (!is_fake(tensor)) {
      throw_needs_data(op.name +
                       " would write to a tensor that the trace doesn't know");
    }
    record_before_write(tensor);
    operator_effects().note_storage(tensor);
  };
  if (argument.isTensor()) {
    prepare(argument.toTensor());
  } else if (argument.isTensorList()) {
    for (const at::Tensor& tensor : argument.toTensorVector()) prepare(tensor);
  }
}

void prepare_writes(const OpInfo& op, const c10::IValue* args) {
  refuse_overlap(op, args);
  for (uint32_t index : op.written) prepare_write(op, args[index]);
}

void run_rule(const OpInfo& op, torch::jit::Stack& stack) {
  c10::IValue* args = stack.data() + (stack.size() - op.arity);
  Outputs outputs;
  op.rule(op, args, outputs);
  if (operator_effects().first_write()) limit_numbers(op, args, outputs);
  if (op.delivered) deliver(op, args, outputs);
  stack.resize(stack.size() - op.arity);
  for (c10::IValue& output : outputs) stack.push_back(std::move(output));
}

// Whether a call draws random numbers; attention draws none without a dropout.
bool draws(const OpInfo& op, const c10::IValue* args) {
  if (!op.may_draw) return false;
  const auto dropout = op.handle.schema().argumentIndexWithName("dropout_p");
  return !dropout || !args[*dropout].isDouble() ||
         args[*dropout].toDouble() != 0;
}

bool holds_integers(const c10::IValue& arg) {
  return arg.isTensor() && at::isIntegralType(arg.toTensor().scalar_type(),
                                              /*includeBool=*/true);
}

// Whether a call may fail for what the tensors hold, or for a number that isn't
// known.
bool may_fail(const OpInfo& op, const c10::IValue* args) {
  switch (op.failure) {
    case DataFailure::Never:
      return op.route == Route::Python;
    case DataFailure::Any:
      return true;
    case DataFailure::IntegerDivisor:
      return holds_integers(args[1]) ||
             (args[1].isSymInt() && holds_integers(args[0]));
    case DataFailure::IntegerExponent:
      return args[1].isSymInt() && holds_integers(args[0]);
  }
  return true;
}

}  // namespace

void run_on_fakes(const c10::OperatorHandle& handle, c10::DispatchKeySet,
                  torch::jit::Stack* stack) {
  const OpInfo& op = op_info(handle);
  const c10::IValue* args = stack->data() + (stack->size() - op.arity);
  OperatorEffects& effects = operator_effects();
  if (draws(op, args)) effects.note_draw();
  if (!op.written.empty()) effects.note_write();
  if (effects.has_data_numbers() || may_fail(op, args)) effects.may_fail();
  switch (op.route) {
    case Route::Rule:
      prepare_writes(op, args);
      return run_rule(op, *stack);
    case Route::Decompose:
      // Writes are prepared by the operators that it decomposes into.
      return run_composite_kernel(op, op.composite_key, *stack);
    case Route::Python:
      prepare_writes(op, args);
      return run_in_python(op, *stack);
  }
}

}  // namespace magneto::tensor
