// SPDX-License-Identifier: BSD-3-Clause
// A frame of the traced program: what CPython's interpreter keeps of one call,
// with values instead of objects. Frames aren't journaled: a handler takes its
// operands off the stack only when nothing can fail any more, so a step that
// breaks leaves its frame as it was, and the frames of inlined calls are gone.
#pragma once

#include <vector>

#include "bytecode/decode.h"
#include "python/call_layout.h"
#include "values/model/context.h"

namespace magneto::trace {

using values::V;

struct Frame {
  PyCodeObject* py_code = nullptr;
  const bytecode::Code* code = nullptr;
  PyObject* globals = nullptr;
  V globals_value = nullptr;    // Dict
  V namespace_value = nullptr;  // Dict: what locals() gave
  std::vector<V> locals;        // localsplus; Null where unbound
  std::vector<V> stack;         // may hold Null
  std::span<const V> closure;   // cells, for CopyFreeVars
  int32_t pc = 0;               // next instruction
  int32_t current = 0;          // the one being executed
  Frame* caller = nullptr;
  graph::LocationId caller_location;  // valid once asked for
  V result = nullptr;                 // of Return and Yield
  V object = nullptr;     // in tracebacks (values::make_frame); null if in none
  V generator = nullptr;  // the Generator value that this frame runs
  // The function, where it makes a generator, and its names; null: as in the
  // code.
  V function = nullptr;  // null if nobody could see it die
  V function_name = nullptr;
  V qualified_name = nullptr;
  values::DirectCall direct;    // how it was called
  int32_t handlers = 0;         // how many exception handlers it is in
  V handled = nullptr;          // of Yield: the exception it is handling
  V handled_outside = nullptr;  // what its caller handles while it runs

  V top(size_t depth = 1) const { return stack[stack.size() - depth]; }
  void push(V value) { stack.push_back(value); }
  void pop(size_t count = 1) { stack.resize(stack.size() - count); }
  // What a call finds it by; `receiver` may be null.
  void push_callable(V callable, V receiver, V null) {
    for (V entry : python::head_of(callable, receiver, null)) push(entry);
  }
  // Takes `count` operands and pushes the result: how handlers end.
  void replace(size_t count, V value) {
    stack.resize(stack.size() - count);
    stack.push_back(value);
  }
  PyObject* constant(int32_t index) const {
    return PyTuple_GET_ITEM(py_code->co_consts, index);
  }
  PyObject* name(int32_t index) const {
    return PyTuple_GET_ITEM(py_code->co_names, index);
  }
  PyObject* local_name(int32_t index) const {
    return PyTuple_GET_ITEM(py_code->co_localsplusnames, index);
  }
};

// How many operands of the caller's stack a call has moved into the variables
// of `called`.
inline size_t operands_given(const Frame& called) {
  if (!called.caller || !called.direct.is_direct ||
      called.direct.holds_operands)
    return 0;
  const Frame& caller = *called.caller;
  const bytecode::Instruction& call =
      caller.code->instructions[static_cast<size_t>(caller.current)];
  return call.op == bytecode::Op::Call
             ? python::call_operands(static_cast<size_t>(call.arg))
             : 0;
}

// Whether an exception that leaves `frame` now meets a handler in it or in a
// frame of the trace that called it.
inline bool is_caught(const Frame& frame) {
  for (const Frame* each = &frame; each; each = each->caller)
    if (each->code->handler_for(each->current)) return true;
  return false;
}

}  // namespace magneto::trace
