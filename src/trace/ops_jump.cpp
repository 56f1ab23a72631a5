// SPDX-License-Identifier: BSD-3-Clause
// Jumps and iteration.
#include "trace/handlers.h"

namespace magneto::trace {

Outcome<Next> op_Jump(Interpreter&, Frame& frame, Instruction ins) {
  frame.pc = ins.arg;
  return Next::Continue;
}

namespace {

Outcome<Next> pop_jump_if(Interpreter& in, Frame& frame, Instruction ins,
                          bool wanted) {
  MG_TRY(bool value, values::truth(in.ctx, frame.top()));
  frame.pop();
  if (value == wanted) frame.pc = ins.arg;
  return Next::Continue;
}

Outcome<Next> jump_if_or_pop(Interpreter& in, Frame& frame, Instruction ins,
                             bool wanted) {
  MG_TRY(bool value, values::truth(in.ctx, frame.top()));
  if (value == wanted)
    frame.pc = ins.arg;
  else
    frame.pop();
  return Next::Continue;
}

Outcome<Next> pop_jump_if_none(Interpreter& in, Frame& frame, Instruction ins,
                               bool wanted) {
  MG_TRY(bool none, values::identical(in.ctx, frame.top(), in.ctx.none()));
  frame.pop();
  if (none == wanted) frame.pc = ins.arg;
  return Next::Continue;
}

}  // namespace

Outcome<Next> op_PopJumpIfTrue(Interpreter& in, Frame& frame, Instruction ins) {
  return pop_jump_if(in, frame, ins, true);
}
Outcome<Next> op_PopJumpIfFalse(Interpreter& in, Frame& frame,
                                Instruction ins) {
  return pop_jump_if(in, frame, ins, false);
}
Outcome<Next> op_PopJumpIfNone(Interpreter& in, Frame& frame, Instruction ins) {
  return pop_jump_if_none(in, frame, ins, true);
}
Outcome<Next> op_PopJumpIfNotNone(Interpreter& in, Frame& frame,
                                  Instruction ins) {
  return pop_jump_if_none(in, frame, ins, false);
}
Outcome<Next> op_JumpIfTrueOrPop(Interpreter& in, Frame& frame,
                                 Instruction ins) {
  return jump_if_or_pop(in, frame, ins, true);
}
Outcome<Next> op_JumpIfFalseOrPop(Interpreter& in, Frame& frame,
                                  Instruction ins) {
  return jump_if_or_pop(in, frame, ins, false);
}

// -- iteration ----------------------------------------------------------------

Outcome<Next> op_GetIter(Interpreter& in, Frame& frame, Instruction) {
  // it -- iter
  MG_TRY(V iterator, values::iterate(in.ctx, frame.top()));
  frame.replace(1, iterator);
  return Next::Continue;
}

Outcome<Next> op_ForIter(Interpreter& in, Frame& frame, Instruction ins) {
  // iter -- iter value | --
  MG_TRY(V value, values::next(in.ctx, frame.top()));
  if (value) {
    frame.push(value);
  } else {
    frame.pop();
    frame.pc = ins.arg;
  }
  return Next::Continue;
}

Outcome<Next> op_GetYieldFromIter(Interpreter& in, Frame& frame, Instruction) {
  // it -- iter
  MG_TRY(V iterator, values::iterate(in.ctx, frame.top()));
  frame.replace(1, iterator);
  return Next::Continue;
}

}  // namespace magneto::trace
