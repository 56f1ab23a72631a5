// SPDX-License-Identifier: BSD-3-Clause
// How instructions move the value stack.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/instruction.h"

namespace magneto::bytecode {

// How many entries at the top of the stack an instruction looks at or takes
// off, and how many are there in their place afterwards; as ops.def says it.
// `jumps`: on the way to the jump target.
struct StackUse {
  int32_t takes;
  int32_t gives;
};
StackUse stack_use(const Instruction& instruction, bool jumps);

// Values pushed minus values popped.
int32_t stack_effect(const Instruction& instruction, bool jumps);

// The depth on entry of each instruction, -1 where it can't be reached.
// Throws InternalError when two ways to one instruction disagree.
std::vector<int32_t> stack_depths(std::span<const Instruction> instructions,
                                  std::span<const Handler> handlers);

// The deepest that the stack can get: what co_stacksize must be at least.
int32_t max_stack_depth(std::span<const Instruction> instructions,
                        std::span<const Handler> handlers);

}  // namespace magneto::bytecode
