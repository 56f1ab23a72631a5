// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/partial_rule.h"

#include "support/check.h"
#include "tensor/composite.h"
#include "tensor/op_info.h"
#include "tensor/python_fallback.h"

namespace magneto::tensor {
namespace {

void run_composite(const OpInfo& op, torch::jit::Stack& stack) {
  using Key = c10::DispatchKey;
  for (Key key :
       {Key::CompositeImplicitAutograd, Key::CompositeExplicitAutograd,
        Key::CompositeExplicitAutogradNonFunctional}) {
    if (op.handle.hasKernelForDispatchKey(key))
      return run_composite_kernel(op, key, stack);
  }
  run_in_python(op, stack);
}

}  // namespace

void run_otherwise(Otherwise what, std::string_view name, const OpInfo& op,
                   c10::IValue* args, Outputs& outputs) {
  if (what == Otherwise::Structured)
    return structured_rule(name)(op, args, outputs);
  torch::jit::Stack stack(args, args + op.arity);
  if (what == Otherwise::Composite)
    run_composite(op, stack);
  else
    run_in_python(op, stack);
  for (c10::IValue& output : stack) outputs.push_back(std::move(output));
}

}  // namespace magneto::tensor
