// SPDX-License-Identifier: BSD-3-Clause
// Stack, locals, cells and global names.
#include "python/find.h"
#include "python/names.h"
#include "trace/handlers.h"
#include "values/types/exceptions.h"

namespace magneto::trace {

namespace {

std::string text(PyObject* name) {
  const char* chars = PyUnicode_AsUTF8(name);
  if (chars == nullptr) PyErr_Clear();
  return chars ? chars : "?";
}

// Unlike a NameError, it doesn't tell the name apart.
Signal unbound(Context& ctx, PyObject* name) {
  return ctx.raise(PyExc_UnboundLocalError,
                   "cannot access local variable '" + text(name) +
                       "' where it is not associated with a value");
}

Signal undefined(Context& ctx, PyObject* name) {
  return values::raise_about_name(
      ctx, PyExc_NameError, "name '" + text(name) + "' is not defined", name);
}

}  // namespace

Outcome<Next> op_Nop(Interpreter&, Frame&, Instruction) {
  return Next::Continue;
}
Outcome<Next> op_Resume(Interpreter&, Frame&, Instruction) {
  return Next::Continue;
}
Outcome<Next> op_Cache(Interpreter&, Frame&, Instruction) {
  return Next::Continue;
}

Outcome<Next> op_PopTop(Interpreter&, Frame& frame, Instruction) {
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_PushNull(Interpreter& in, Frame& frame, Instruction) {
  frame.push(in.ctx.null());
  return Next::Continue;
}

Outcome<Next> op_Copy(Interpreter&, Frame& frame, Instruction ins) {
  frame.push(frame.top(static_cast<size_t>(ins.arg)));
  return Next::Continue;
}

Outcome<Next> op_Swap(Interpreter&, Frame& frame, Instruction ins) {
  std::swap(frame.stack.back(),
            frame.stack[frame.stack.size() - static_cast<size_t>(ins.arg)]);
  return Next::Continue;
}

Outcome<Next> op_LoadConst(Interpreter& in, Frame& frame, Instruction ins) {
  frame.push(in.ctx.code_constant(frame.constant(ins.arg)));
  return Next::Continue;
}

// -- locals -------------------------------------------------------------------

Outcome<Next> op_LoadFast(Interpreter& in, Frame& frame, Instruction ins) {
  V value = frame.locals[static_cast<size_t>(ins.arg)];
  if (value->is_null()) [[unlikely]]
    return unbound(in.ctx, frame.local_name(ins.arg));
  frame.push(value);
  return Next::Continue;
}

Outcome<Next> op_StoreFast(Interpreter& in, Frame& frame, Instruction ins) {
  V value = frame.top();
  if (value->kind == Kind::Tensor) {
    const graph::NodeRef node = in.ctx.heap[value->heap].node;
    in.ctx.tracer.of(node).set_name_hint(node.node, frame.local_name(ins.arg));
  }
  frame.locals[static_cast<size_t>(ins.arg)] = value;
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_DeleteFast(Interpreter& in, Frame& frame, Instruction ins) {
  V& local = frame.locals[static_cast<size_t>(ins.arg)];
  if (local->is_null()) return unbound(in.ctx, frame.local_name(ins.arg));
  // Another one than a variable begins with: Interpreter::written().
  local = in.ctx.arena.make<values::Value>(values::Value{.kind = Kind::Null});
  return Next::Continue;
}

// -- cells --------------------------------------------------------------------

Outcome<Next> op_MakeCell(Interpreter& in, Frame& frame, Instruction ins) {
  V& local = frame.locals[static_cast<size_t>(ins.arg)];
  local = in.ctx.cell(local);
  return Next::Continue;
}

Outcome<Next> op_CopyFreeVars(Interpreter&, Frame& frame, Instruction ins) {
  const auto count = static_cast<size_t>(ins.arg);
  MG_CHECK(frame.closure.size() == count, "a closure has all free variables");
  const size_t first = frame.locals.size() - count;
  for (size_t i = 0; i < count; ++i) frame.locals[first + i] = frame.closure[i];
  return Next::Continue;
}

Outcome<Next> op_LoadClosure(Interpreter&, Frame& frame, Instruction ins) {
  frame.push(frame.locals[static_cast<size_t>(ins.arg)]);
  return Next::Continue;
}

namespace {

Signal empty_cell(Context& ctx, const Frame& frame, Instruction ins) {
  PyObject* name = frame.local_name(ins.arg);
  const int32_t free_start =
      frame.py_code->co_nlocalsplus - frame.py_code->co_nfreevars;
  if (ins.arg < free_start) return unbound(ctx, name);
  return values::raise_about_name(
      ctx, PyExc_NameError,
      "cannot access free variable '" + text(name) +
          "' where it is not associated with a value in enclosing scope",
      name);
}

}  // namespace

Outcome<Next> op_LoadDeref(Interpreter& in, Frame& frame, Instruction ins) {
  V cell = in.ctx.look(frame.locals[static_cast<size_t>(ins.arg)]);
  V content = in.ctx.heap[cell->heap].slots[0];
  if (content == nullptr || content->is_null())
    return empty_cell(in.ctx, frame, ins);
  frame.push(content);
  return Next::Continue;
}

MG_UNSUPPORTED(LoadClassDeref, "make the class outside of the function")

Outcome<Next> op_StoreDeref(Interpreter& in, Frame& frame, Instruction ins) {
  V cell = in.ctx.look(frame.locals[static_cast<size_t>(ins.arg)]);
  in.ctx.heap.set_slot(cell->heap, 0, frame.top());
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_DeleteDeref(Interpreter& in, Frame& frame, Instruction ins) {
  V cell = in.ctx.look(frame.locals[static_cast<size_t>(ins.arg)]);
  V content = in.ctx.heap[cell->heap].slots[0];
  if (content == nullptr || content->is_null())
    return empty_cell(in.ctx, frame, ins);
  in.ctx.heap.set_slot(cell->heap, 0, in.ctx.null());
  return Next::Continue;
}

// -- globals ------------------------------------------------------------------

namespace {

Outcome<V> load_global(Interpreter& in, Frame& frame, PyObject* name) {
  Context& ctx = in.ctx;
  if (frame.globals_value == nullptr)
    frame.globals_value = in.globals_value(frame.globals);
  V value = values::dict_get_string(ctx, frame.globals_value, name);
  if (value) return value;
  PyObject* builtins = builtins_of(frame.globals);
  value = values::dict_get_string(ctx, ctx.known(builtins), name);
  if (value) return value;
  return undefined(ctx, name);
}

}  // namespace

Outcome<Next> op_LoadGlobal(Interpreter& in, Frame& frame, Instruction ins) {
  MG_TRY(V value, load_global(in, frame, frame.name(ins.arg)));
  frame.push(value);
  return Next::Continue;
}

Outcome<Next> op_LoadGlobalNull(Interpreter& in, Frame& frame,
                                Instruction ins) {
  MG_TRY(V value, load_global(in, frame, frame.name(ins.arg)));
  frame.push_callable(value, nullptr, in.ctx.null());
  return Next::Continue;
}

Outcome<Next> op_StoreGlobal(Interpreter& in, Frame& frame, Instruction ins) {
  if (frame.globals_value == nullptr)
    frame.globals_value = in.globals_value(frame.globals);
  MG_DO(values::dict_set(in.ctx, frame.globals_value,
                         in.ctx.constant_share(frame.name(ins.arg)),
                         frame.top()));
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_DeleteGlobal(Interpreter& in, Frame& frame, Instruction ins) {
  if (frame.globals_value == nullptr)
    frame.globals_value = in.globals_value(frame.globals);
  MG_TRY(V old, values::dict_pop(in.ctx, frame.globals_value,
                                 in.ctx.constant_share(frame.name(ins.arg))));
  if (!old) return undefined(in.ctx, frame.name(ins.arg));
  return Next::Continue;
}

MG_UNSUPPORTED(LoadName, "make the class outside of the function")
MG_UNSUPPORTED(StoreName, "make the class outside of the function")
MG_UNSUPPORTED(DeleteName, "make the class outside of the function")
MG_UNSUPPORTED(LoadBuildClass, "make the class outside of the function")
MG_UNSUPPORTED(SetupAnnotations, "make the class outside of the function")

Outcome<Next> op_LoadAssertionError(Interpreter& in, Frame& frame,
                                    Instruction) {
  frame.push(in.ctx.constant_share(PyExc_AssertionError));
  return Next::Continue;
}

}  // namespace magneto::trace
