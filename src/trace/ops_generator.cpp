// SPDX-License-Identifier: BSD-3-Clause
// Generators; coroutines are named graph breaks.
#include "python/names.h"
#include "trace/handlers.h"

namespace magneto::trace {

Outcome<Next> op_ReturnGenerator(Interpreter& in, Frame& frame, Instruction) {
  V generator = in.make_generator(frame);
  frame.result = generator;
  return Next::Return;
}

Outcome<Next> op_YieldValue(Interpreter& in, Frame& frame, Instruction) {
  frame.handled = frame.handlers ? in.handled.get() : nullptr;
  frame.result = frame.top();
  frame.pop();
  return Next::Yield;
}

namespace {

Outcome<V> send_to(Context& ctx, V receiver, V sent, V* returned) {
  MG_TRY(V method, values::get_attribute(ctx, receiver, interned().send));
  return values::unless_stopped(ctx, values::call(ctx, method, {sent}),
                                returned);
}

}  // namespace

Outcome<Next> op_Send(Interpreter& in, Frame& frame, Instruction ins) {
  Context& ctx = in.ctx;
  V receiver = ctx.look(frame.top(2));
  V sent = frame.top(1);
  V returned = ctx.none();
  V result = nullptr;
  if (receiver->kind == Kind::Generator) {
    MG_TRY(result,
           ctx.inliner->resume_generator(receiver, sent, nullptr, &returned));
  } else if (ctx.look(sent) == ctx.none()) {
    MG_TRY(result, values::next(ctx, receiver, &returned));
  } else {
    MG_TRY(result, send_to(ctx, receiver, sent, &returned));
  }
  if (result) {
    frame.replace(1, result);
  } else {
    frame.replace(2, returned);
    frame.pc = ins.arg;
  }
  return Next::Continue;
}

MG_UNSUPPORTED(AsyncGenWrap, "await outside of the compiled function")
MG_UNSUPPORTED(GetAwaitable, "await outside of the compiled function")
MG_UNSUPPORTED(GetAiter, "await outside of the compiled function")
MG_UNSUPPORTED(GetAnext, "await outside of the compiled function")
MG_UNSUPPORTED(BeforeAsyncWith, "await outside of the compiled function")
MG_UNSUPPORTED(EndAsyncFor, "await outside of the compiled function")

}  // namespace magneto::trace
