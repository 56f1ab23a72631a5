// SPDX-License-Identifier: BSD-3-Clause
// Jumps and iteration.
#include <algorithm>
#include <array>

#include "python/names.h"
#include "trace/handlers.h"
#include "values/protocol/symbolic.h"

namespace magneto::trace {

Outcome<Next> op_Jump(Interpreter&, Frame& frame, Instruction ins) {
  frame.pc = ins.arg;
  return Next::Continue;
}

namespace {

// Exceptions by which protocols say that there is nothing more.
bool is_an_answer(const Frame& frame, const Instruction& instruction) {
  if (instruction.op != Op::LoadGlobal && instruction.op != Op::LoadGlobalNull)
    return false;
  constexpr std::array kAnswers{"StopIteration", "StopAsyncIteration",
                                "IndexError", "KeyError", "AttributeError"};
  return std::any_of(kAnswers.begin(), kAnswers.end(), [&](const char* name) {
    return PyUnicode_CompareWithASCIIString(frame.name(instruction.arg),
                                            name) == 0;
  });
}

// Whether the instructions from there on, one after the other, raise an error.
bool raises(const Frame& frame, int32_t at) {
  constexpr int32_t kLongest = 48;
  const auto& code = frame.code->instructions;
  const auto end = static_cast<int32_t>(code.size());
  for (int32_t i = at; i < std::min(end, at + kLongest); ++i) {
    const Instruction& each = code[static_cast<size_t>(i)];
    if (each.op == Op::RaiseVarargs) return true;
    const bytecode::OpInfo& info = bytecode::info(each.op);
    if (info.jumps || info.terminates || each.op == Op::YieldValue ||
        is_an_answer(frame, each))
      return false;
  }
  return false;
}

// `assert condition` and `if not condition: raise ...`, of which only the
// graph's run can tell whether it holds: the graph asserts it. Where it fails,
// the frame runs in plain Python, which raises the error that the program says.
// `at` is where it goes on if `wanted` isn't the condition's truth.
Outcome<bool> is_asserted(Interpreter& in, Frame& frame, int32_t at,
                          bool wanted) {
  V condition = in.ctx.look_function(frame.top());
  const bool is_tensor = condition->kind == values::Kind::Tensor;
  if (!values::is_symbol(condition) && !(is_tensor && in.ctx.takes_data))
    return false;
  const Instruction& behind = frame.code->instructions[static_cast<size_t>(at)];
  if (behind.op != Op::LoadAssertionError &&
      (!raises(frame, at) || is_caught(frame) || in.ctx.native_depth != 0))
    return false;
  if (is_tensor) {
    MG_TRY(condition,
           values::call_method(in.ctx, condition, interned().dunder_bool, {}));
    if (!values::is_symbol(condition)) return false;
  }
  shapes::E open = values::open_truth(in.ctx, condition);
  if (open && !wanted)
    open = in.ctx.symbols.environment()->expressions().logical_not(open);
  if (open) in.ctx.symbols.assert_in_graph(open, {});
  return open != nullptr;
}

Outcome<Next> pop_jump_if(Interpreter& in, Frame& frame, Instruction ins,
                          bool wanted) {
  MG_TRY(bool goes_there, is_asserted(in, frame, frame.pc, wanted));
  if (goes_there) {
    frame.pop();
    frame.pc = ins.arg;
    return Next::Continue;
  }
  MG_TRY(bool goes_on, is_asserted(in, frame, ins.arg, !wanted));
  if (goes_on) {
    frame.pop();
    return Next::Continue;
  }
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
  V iterable = in.ctx.look(frame.top());
  if (iterable->type == &PyCoro_Type)
    return in.ctx.graph_break("async-function", "`yield from` a coroutine");
  MG_TRY(V iterator, values::iterate(in.ctx, iterable));
  frame.replace(1, iterator);
  return Next::Continue;
}

Outcome<Next> op_ForIter(Interpreter& in, Frame& frame, Instruction ins) {
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
  if (in.ctx.look_symbolic(frame.top())->type == &PyCoro_Type) {
    if (frame.py_code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE))
      return in.ctx.graph_break("async-function",
                                "a coroutine that is awaited");
    return in.ctx.raise(PyExc_TypeError,
                        "cannot 'yield from' a coroutine object in a "
                        "non-coroutine generator");
  }
  MG_TRY(V iterator, values::iterate(in.ctx, frame.top()));
  frame.replace(1, iterator);
  return Next::Continue;
}

}  // namespace magneto::trace
