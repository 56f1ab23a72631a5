// SPDX-License-Identifier: BSD-3-Clause
// Exceptions and with statements.
#include "python/names.h"
#include "trace/handlers.h"
#include "values/exceptions.h"

namespace magneto::trace {

Outcome<Next> op_PushExcInfo(Interpreter& in, Frame& frame, Instruction) {
  // exc -- previous exc
  V exception = frame.top();
  frame.stack.back() = in.handled;
  frame.push(exception);
  in.handled = exception;
  ++frame.handlers;
  return Next::Continue;
}

Outcome<Next> op_PopExcept(Interpreter& in, Frame& frame, Instruction) {
  // previous --
  in.handled = frame.top();
  frame.pop();
  --frame.handlers;
  return Next::Continue;
}

namespace {

// Whether `type`, a class or a tuple of classes, catches the exception.
Outcome<bool> matches(Context& ctx, V exception, V type) {
  type = ctx.look(type);
  if (type->is_constant() && PyType_Check(type->object) &&
      values::is_exception_type(reinterpret_cast<PyTypeObject*>(type->object)))
    return values::is_instance_of(
        exception, reinterpret_cast<PyTypeObject*>(type->object));
  if (values::is_instance_of(type, &PyTuple_Type)) {
    std::vector<V> types;
    MG_DO(values::unpack(ctx, type, types));
    for (V each : types) {
      MG_TRY(bool found, matches(ctx, exception, each));
      if (found) return true;
    }
    return false;
  }
  return ctx.raise(PyExc_TypeError,
                   "catching classes that do not inherit from BaseException "
                   "is not allowed");
}

// An exception to raise: an instance, or a class to instantiate.
Outcome<V> as_exception(Context& ctx, V value) {
  value = ctx.look(value);
  if (value->is_constant() && PyType_Check(value->object) &&
      values::is_exception_type(
          reinterpret_cast<PyTypeObject*>(value->object))) {
    MG_TRY(V made, values::call(ctx, value, {}));
    made = ctx.look(made);
    if (values::is_exception_type(made->type)) return made;
    if (!Py_IS_TYPE(made->type, &PyType_Type))
      return ctx.graph_break("native-call",
                             "repr() of a class with a metaclass");
    Ref name =
        Ref::steal(PyObject_Repr(reinterpret_cast<PyObject*>(made->type)));
    const char* chars = name ? PyUnicode_AsUTF8(name) : nullptr;
    if (!chars) return ctx.raise_from_python();
    return values::not_an_exception(ctx, value, chars);
  }
  if (value->kind == Kind::Object && values::is_exception_type(value->type))
    return value;
  return ctx.raise(PyExc_TypeError,
                   "exceptions must derive from BaseException");
}

}  // namespace

Outcome<Next> op_CheckExcMatch(Interpreter& in, Frame& frame, Instruction) {
  // exc type -- exc bool
  MG_TRY(bool found, matches(in.ctx, in.ctx.look(frame.top(2)), frame.top(1)));
  frame.replace(1, in.ctx.boolean(found));
  return Next::Continue;
}

MG_UNSUPPORTED(CheckEgMatch, "handle exception groups outside")
MG_UNSUPPORTED(PrepReraiseStar, "handle exception groups outside")

namespace {

// Its context stays what it is.
Signal raise_again(Interpreter& in, V exception) {
  const V handled = std::exchange(in.handled, exception);
  const Signal signal = in.ctx.raise_value(exception);
  in.handled = handled;
  return signal;
}

}  // namespace

Outcome<Next> op_Reraise(Interpreter& in, Frame& frame, Instruction) {
  // [lasti] exc --
  return raise_again(in, frame.top());
}

Outcome<Next> op_RaiseVarargs(Interpreter& in, Frame& frame, Instruction ins) {
  // [exc] [cause] --
  Context& ctx = in.ctx;
  if (ins.arg == 0) {
    V handled = ctx.look(in.handled);
    if (handled == ctx.none())
      return ctx.raise(PyExc_RuntimeError, "No active exception to reraise");
    return raise_again(in, handled);
  }
  MG_TRY(V exception,
         as_exception(ctx, frame.top(static_cast<size_t>(ins.arg))));
  if (ins.arg == 2) {
    V cause = ctx.look(frame.top(1));
    if (cause != ctx.none()) {
      MG_TRY(cause, as_exception(ctx, cause));
    }
    values::set_exception_field(ctx, exception, interned().dunder_cause, cause);
  }
  return ctx.raise_value(exception);
}

// -- with ---------------------------------------------------------------------

Outcome<Next> op_BeforeWith(Interpreter& in, Frame& frame, Instruction) {
  // ctx -- exit enter_result
  Context& ctx = in.ctx;
  V manager = ctx.look(frame.top());
  MG_TRY(V enter,
         values::special_method(ctx, manager, interned().dunder_enter));
  MG_TRY(V exit, values::special_method(ctx, manager, interned().dunder_exit));
  if (!enter || !exit)
    return ctx.raise(
        PyExc_TypeError,
        std::string("'") + _PyType_Name(manager->type) +
            "' object does not support the context manager protocol" +
            (enter ? " (missed __exit__ method)" : ""));
  MG_TRY(V result, values::call(ctx, enter, {}));
  frame.replace(1, exit);
  frame.push(result);
  return Next::Continue;
}

Outcome<Next> op_WithExceptStart(Interpreter& in, Frame& frame, Instruction) {
  // exit lasti previous exc -- exit lasti previous exc result
  Context& ctx = in.ctx;
  V exception = ctx.look(frame.top(1));
  V type = ctx.constant_share(reinterpret_cast<PyObject*>(exception->type));
  V traceback = values::exception_traceback(ctx, exception);
  if (!traceback)
    return ctx.graph_break("c-attribute",
                           "the traceback of a caller's exception");
  MG_TRY(V result,
         values::call(ctx, frame.top(4), {type, exception, traceback}));
  frame.push(result);
  return Next::Continue;
}

}  // namespace magneto::trace
