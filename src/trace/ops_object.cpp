// SPDX-License-Identifier: BSD-3-Clause
// Attributes, items and operators.
#include "trace/handlers.h"

namespace magneto::trace {

using values::Unary;

Outcome<Next> op_LoadAttr(Interpreter& in, Frame& frame, Instruction ins) {
  MG_TRY(V value,
         values::get_attribute(in.ctx, frame.top(), frame.name(ins.arg)));
  frame.replace(1, value);
  return Next::Continue;
}

Outcome<Next> op_LoadMethod(Interpreter& in, Frame& frame, Instruction ins) {
  V self = nullptr;
  MG_TRY(V value,
         values::load_method(in.ctx, frame.top(), frame.name(ins.arg), &self));
  frame.pop();
  frame.push_callable(value, self, in.ctx.null());
  return Next::Continue;
}

Outcome<Next> op_StoreAttr(Interpreter& in, Frame& frame, Instruction ins) {
  MG_DO(values::set_attribute(in.ctx, frame.top(1), frame.name(ins.arg),
                              frame.top(2)));
  frame.pop(2);
  return Next::Continue;
}

Outcome<Next> op_DeleteAttr(Interpreter& in, Frame& frame, Instruction ins) {
  MG_DO(values::delete_attribute(in.ctx, frame.top(), frame.name(ins.arg)));
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_BinarySubscr(Interpreter& in, Frame& frame, Instruction) {
  MG_TRY(V value, values::get_item(in.ctx, frame.top(2), frame.top(1)));
  frame.replace(2, value);
  return Next::Continue;
}

Outcome<Next> op_StoreSubscr(Interpreter& in, Frame& frame, Instruction) {
  MG_DO(values::set_item(in.ctx, frame.top(2), frame.top(1), frame.top(3)));
  frame.pop(3);
  return Next::Continue;
}

Outcome<Next> op_DeleteSubscr(Interpreter& in, Frame& frame, Instruction) {
  MG_DO(values::delete_item(in.ctx, frame.top(2), frame.top(1)));
  frame.pop(2);
  return Next::Continue;
}

// -- operators ----------------------------------------------------------------

namespace {

Outcome<Next> unary(Interpreter& in, Frame& frame, Unary kind) {
  MG_TRY(V value, values::unary_operation(in.ctx, kind, frame.top()));
  frame.replace(1, value);
  return Next::Continue;
}

}  // namespace

Outcome<Next> op_UnaryPositive(Interpreter& in, Frame& frame, Instruction) {
  return unary(in, frame, Unary::Positive);
}
Outcome<Next> op_UnaryNegative(Interpreter& in, Frame& frame, Instruction) {
  return unary(in, frame, Unary::Negative);
}
Outcome<Next> op_UnaryInvert(Interpreter& in, Frame& frame, Instruction) {
  return unary(in, frame, Unary::Invert);
}

Outcome<Next> op_UnaryNot(Interpreter& in, Frame& frame, Instruction) {
  MG_TRY(bool value, values::truth(in.ctx, frame.top()));
  frame.replace(1, in.ctx.boolean(!value));
  return Next::Continue;
}

Outcome<Next> op_BinaryOp(Interpreter& in, Frame& frame, Instruction ins) {
  MG_TRY(V value,
         values::binary_operation(in.ctx, ins.arg, frame.top(2), frame.top(1)));
  frame.replace(2, value);
  return Next::Continue;
}

Outcome<Next> op_CompareOp(Interpreter& in, Frame& frame, Instruction ins) {
  MG_TRY(V value, values::compare(in.ctx, ins.arg, frame.top(2), frame.top(1)));
  frame.replace(2, value);
  return Next::Continue;
}

Outcome<Next> op_IsOp(Interpreter& in, Frame& frame, Instruction ins) {
  MG_TRY(bool same, values::identical(in.ctx, frame.top(2), frame.top(1)));
  frame.replace(2, in.ctx.boolean(same != (ins.arg != 0)));
  return Next::Continue;
}

Outcome<Next> op_ContainsOp(Interpreter& in, Frame& frame, Instruction ins) {
  MG_TRY(bool found, values::contains(in.ctx, frame.top(1), frame.top(2)));
  frame.replace(2, in.ctx.boolean(found != (ins.arg != 0)));
  return Next::Continue;
}

}  // namespace magneto::trace
