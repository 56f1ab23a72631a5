// SPDX-License-Identifier: BSD-3-Clause
// One handler for each row of bytecode/ops.def, declared from that table, so a
// missing one is a link error. What each finds on the stack and leaves there,
// the table says. They are defined by family in ops_*.cpp.
#pragma once

#include "trace/interpreter.h"

namespace magneto::trace {

#define MG_OP(name, operand, flags, takes, gives) \
  Outcome<Next> op_##name(Interpreter&, Frame&, Instruction);
#include "bytecode/ops.def"
#undef MG_OP

// An operation that has no meaning yet: a named graph break.
#define MG_UNSUPPORTED(name, hint)                                     \
  Outcome<Next> op_##name(Interpreter& in, Frame&, Instruction) {      \
    return in.ctx.graph_break("unsupported-instruction", #name, hint); \
  }

}  // namespace magneto::trace
