// SPDX-License-Identifier: BSD-3-Clause
// Generators; coroutines are named graph breaks.
#include "python/names.h"
#include "trace/handlers.h"
#include "values/exceptions.h"

namespace magneto::trace {

Outcome<Next> op_ReturnGenerator(Interpreter& in, Frame& frame, Instruction) {
  V generator = in.make_generator(frame);
  frame.result = generator;
  return Next::Return;
}

Outcome<Next> op_YieldValue(Interpreter& in, Frame& frame, Instruction) {
  // v -- sent
  frame.handled = frame.handlers ? in.handled : nullptr;
  frame.result = frame.top();
  frame.pop();
  return Next::Yield;
}

Outcome<V> unless_stopped(Context& ctx, Outcome<V> item, V* returned) {
  if (item || item.signal() != Signal::Raised ||
      !ctx.exception_is(PyExc_StopIteration))
    return item;
  *returned =
      values::exception_field(ctx, ctx.take_exception(), interned().value);
  return nullptr;
}

namespace {

// The next item of what a generator delegates to, which is no generator.
Outcome<V> next_of(Context& ctx, V receiver, V* returned) {
  PyObject* found =
      receiver->kind == Kind::Iterator
          ? nullptr
          : values::type_lookup(ctx, receiver->type, interned().dunder_next);
  if (!found || !Py_IS_TYPE(found, &PyFunction_Type))
    return values::next(ctx, receiver);
  MG_TRY(V method,
         values::special_method(ctx, receiver, interned().dunder_next));
  return unless_stopped(ctx, values::call(ctx, method, {}), returned);
}

Outcome<V> send_to(Context& ctx, V receiver, V sent, V* returned) {
  MG_TRY(V method, values::get_attribute(ctx, receiver, interned().send));
  return unless_stopped(ctx, values::call(ctx, method, {sent}), returned);
}

}  // namespace

Outcome<Next> op_Send(Interpreter& in, Frame& frame, Instruction ins) {
  // recv v -- recv result | result
  Context& ctx = in.ctx;
  V receiver = ctx.look(frame.top(2));
  V sent = frame.top(1);
  V returned = ctx.none();
  V result = nullptr;
  if (receiver->kind == Kind::Generator) {
    MG_TRY(result,
           ctx.inliner->resume_generator(receiver, sent, nullptr, &returned));
  } else if (ctx.look(sent) == ctx.none()) {
    MG_TRY(result, next_of(ctx, receiver, &returned));
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
