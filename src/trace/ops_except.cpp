// SPDX-License-Identifier: BSD-3-Clause
// Exceptions and with statements.
#include <algorithm>

#include "python/find.h"
#include "python/names.h"
#include "trace/handlers.h"
#include "values/types/exception_groups.h"
#include "values/types/exceptions.h"

namespace magneto::trace {

// A generator has a place of its own for what it handles, in which nothing is
// outside of its handlers: what its caller handles may differ from step to
// step.
Outcome<Next> op_PushExcInfo(Interpreter& in, Frame& frame, Instruction) {
  V exception = frame.top();
  frame.stack.back() =
      frame.generator && !frame.handlers ? in.ctx.none() : in.handled;
  frame.push(exception);
  in.handled = exception;
  ++frame.handlers;
  return Next::Continue;
}

Outcome<Next> op_PopExcept(Interpreter& in, Frame& frame, Instruction) {
  --frame.handlers;
  in.handled =
      frame.generator && !frame.handlers ? frame.handled_outside : frame.top();
  frame.pop();
  return Next::Continue;
}

namespace {

// The classes that `except type` names: a class or a tuple of classes.
Status caught_types(Context& ctx, V type, std::vector<PyTypeObject*>& types) {
  type = ctx.look(type);
  std::vector<V> classes{type};
  if (type->kind == Kind::Tuple) {
    const auto items = values::tuple_items(type);
    classes.assign(items.begin(), items.end());
  } else if (type->is_constant() && PyTuple_CheckExact(type->object)) {
    classes.clear();
    MG_DO(values::unpack(ctx, type, classes));
  }
  for (V each : classes) {
    each = ctx.look(each);
    if (!each->is_constant() || !PyType_Check(each->object) ||
        !values::is_exception_type(
            reinterpret_cast<PyTypeObject*>(each->object)))
      return ctx.raise(PyExc_TypeError,
                       "catching classes that do not inherit from "
                       "BaseException is not allowed");
    types.push_back(reinterpret_cast<PyTypeObject*>(each->object));
  }
  return done;
}

// An exception to raise, or the cause of one: an instance, or a class to
// instantiate.
Outcome<V> as_exception(Context& ctx, V value, bool is_cause) {
  const char* refusal = is_cause
                            ? "exception causes must derive from BaseException"
                            : "exceptions must derive from BaseException";
  value = ctx.look(value);
  if (value->is_constant() && PyType_Check(value->object) &&
      values::is_exception_type(
          reinterpret_cast<PyTypeObject*>(value->object))) {
    MG_TRY(V made, values::call(ctx, value, {}));
    made = ctx.look(made);
    if (values::is_exception_type(made->type)) return made;
    // CPython doesn't look at what it makes of a cause.
    if (is_cause)
      return ctx.graph_break("native-call",
                             "a cause whose class makes no exception");
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
  return ctx.raise(PyExc_TypeError, refusal);
}

}  // namespace

Outcome<Next> op_CheckExcMatch(Interpreter& in, Frame& frame, Instruction) {
  std::vector<PyTypeObject*> types;
  MG_DO(caught_types(in.ctx, frame.top(1), types));
  V exception = in.ctx.look(frame.top(2));
  const bool found = std::ranges::any_of(types, [&](PyTypeObject* type) {
    return values::is_instance_of(exception, type);
  });
  frame.replace(1, in.ctx.boolean(found));
  return Next::Continue;
}

Outcome<Next> op_CheckEgMatch(Interpreter& in, Frame& frame, Instruction) {
  Context& ctx = in.ctx;
  std::vector<PyTypeObject*> types;
  MG_DO(caught_types(ctx, frame.top(1), types));
  if (std::ranges::any_of(types, values::is_group_type))
    return ctx.raise(PyExc_TypeError,
                     "catching ExceptionGroup with except* is not allowed. "
                     "Use except instead.");
  MG_TRY(values::GroupParts parts,
         values::match_star(ctx, frame.top(2), frame.top(1), types));
  if (parts.match != ctx.none()) {
    frame.stack[frame.stack.size() - 2] = parts.rest;
    in.handled = parts.match;
  }
  frame.replace(1, parts.match);
  return Next::Continue;
}

Outcome<Next> op_PrepReraiseStar(Interpreter& in, Frame& frame, Instruction) {
  Context& ctx = in.ctx;
  std::vector<V> exceptions;
  MG_DO(values::unpack(ctx, frame.top(1), exceptions));
  MG_TRY(V raised, values::exception_of_star(ctx, frame.top(2), exceptions));
  frame.replace(2, raised);
  return Next::Continue;
}

namespace {

// Its context stays what it is.
Signal raise_again(Interpreter& in, V exception) {
  const V handled = in.handled.exchange(exception);
  const Signal signal = in.ctx.raise_value(exception);
  in.handled = handled;
  return signal;
}

}  // namespace

Outcome<Next> op_Reraise(Interpreter& in, Frame& frame, Instruction) {
  return raise_again(in, frame.top());
}

Outcome<Next> op_RaiseVarargs(Interpreter& in, Frame& frame, Instruction ins) {
  Context& ctx = in.ctx;
  if (ins.arg == 0) {
    V handled = ctx.look(in.handled);
    if (handled == ctx.none())
      return ctx.raise(PyExc_RuntimeError, "No active exception to reraise");
    return raise_again(in, handled);
  }
  MG_TRY(V exception,
         as_exception(ctx, frame.top(static_cast<size_t>(ins.arg)), false));
  if (ins.arg == 2) {
    V cause = ctx.look(frame.top(1));
    if (cause != ctx.none()) {
      MG_TRY(cause, as_exception(ctx, cause, true));
    }
    values::set_exception_field(ctx, exception, interned().dunder_cause, cause);
  }
  in.note_raised_object(exception);
  return ctx.raise_value(exception);
}

// -- with ---------------------------------------------------------------------

namespace {

// A cached_property holds its lock while it computes; a piece has no locks.
bool is_lock_of_property(const Frame& frame, V manager) {
  static PyObject* const get = find_object("functools.cached_property.__get__");
  static PyObject* const lock = find_object("_thread.RLock");
  return frame.py_code ==
             reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(get)) &&
         manager->type == reinterpret_cast<PyTypeObject*>(lock);
}

V no_lock(Context& ctx) {
  static PyObject* const manager =
      PyObject_CallNoArgs(find_object("contextlib.nullcontext"));
  MG_CHECK(manager, "a context without an effect");
  return ctx.known(manager);
}

}  // namespace

Outcome<Next> op_BeforeWith(Interpreter& in, Frame& frame, Instruction) {
  Context& ctx = in.ctx;
  V manager = ctx.look(frame.top());
  if (is_lock_of_property(frame, manager)) manager = no_lock(ctx);
  MG_TRY(V enter,
         values::special_method(ctx, manager, interned().dunder_enter));
  MG_TRY(V exit, values::special_method(ctx, manager, interned().dunder_exit));
  if (!enter || !exit)
    return ctx.raise(
        PyExc_TypeError,
        std::string("'") + manager->type->tp_name +
            "' object does not support the context manager protocol" +
            (enter ? " (missed __exit__ method)" : ""));
  MG_TRY(V result, values::call(ctx, enter, {}));
  frame.replace(1, exit);
  frame.push(result);
  return Next::Continue;
}

Outcome<Next> op_WithExceptStart(Interpreter& in, Frame& frame, Instruction) {
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
