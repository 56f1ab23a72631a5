// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/stack_effect.h"

#include <algorithm>
#include <bit>

#include "support/check.h"

namespace magneto::bytecode {

StackUse stack_use(const Instruction& instruction, bool jumps) {
  const int32_t arg = instruction.arg;
  const auto bits = [](int32_t number) {
    return std::popcount(static_cast<uint32_t>(number));
  };
  switch (instruction.op) {
#define MG_OP(name, operand, flags, takes, gives) \
  case Op::name:                                  \
    return {takes, gives};
#include "bytecode/ops.def"
#undef MG_OP
  }
  MG_CHECK(false, "an instruction must be of the canonical set");
}

int32_t stack_effect(const Instruction& instruction, bool jumps) {
  const StackUse use = stack_use(instruction, jumps);
  return use.gives - use.takes;
}

std::vector<int32_t> stack_depths(std::span<const Instruction> instructions,
                                  std::span<const Handler> handlers) {
  std::vector<int32_t> depths(instructions.size(), -1);
  std::vector<int32_t> pending;
  auto reach = [&](int32_t index, int32_t depth) {
    MG_CHECK(index >= 0 && static_cast<size_t>(index) < depths.size(),
             "control must stay in the code");
    int32_t& known = depths[static_cast<size_t>(index)];
    MG_CHECK(depth >= 0, "the value stack must not run empty");
    MG_CHECK(known < 0 || known == depth,
             "ways to an instruction must agree on the stack's depth");
    if (known >= 0) return;
    known = depth;
    pending.push_back(index);
  };
  if (!instructions.empty()) reach(0, 0);
  while (!pending.empty()) {
    const int32_t index = pending.back();
    pending.pop_back();
    const Instruction& instruction = instructions[static_cast<size_t>(index)];
    const OpInfo& op = info(instruction.op);
    const int32_t depth = depths[static_cast<size_t>(index)];
    if (op.jumps) {
      reach(instruction.arg, depth + stack_effect(instruction, true));
    }
    if (!op.terminates) {
      reach(index + 1, depth + stack_effect(instruction, false));
    }
    if (const Handler* handler = find_handler(handlers, index)) {
      reach(handler->target, handler->depth + handler->push_lasti + 1);
    }
  }
  return depths;
}

int32_t max_stack_depth(std::span<const Instruction> instructions,
                        std::span<const Handler> handlers) {
  const auto depths = stack_depths(instructions, handlers);
  int32_t deepest = 0;
  for (size_t i = 0; i < depths.size(); ++i) {
    if (depths[i] < 0) continue;
    deepest = std::max(
        {deepest, depths[i], depths[i] + stack_effect(instructions[i], false)});
  }
  return deepest;
}

}  // namespace magneto::bytecode
