// SPDX-License-Identifier: BSD-3-Clause
// The loop, exceptions, and what natives ask of the running frame.
#include "trace/interpreter.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "bytecode/stack_effect.h"
#include "python/call_layout.h"
#include "python/code_object.h"
#include "python/names.h"
#include "python/types.h"
#include "support/stack_room.h"
#include "tensor/transforms.h"
#include "trace/handlers.h"
#include "values/types/exceptions.h"

namespace magneto::trace {

const Handler kHandlers[bytecode::kOpCount] = {
#define MG_OP(name, operand, flags, takes, gives) op_##name,
#include "bytecode/ops.def"
#undef MG_OP
};

namespace {

// How many instructions are traced between two checks for Ctrl-C, which must
// end a long trace. Small enough that few signals are handled in other Python
// code that runs meanwhile, as in a callback of the garbage collector, where an
// exception would be lost.
constexpr int64_t kStepsBetweenChecks = 64;
// This many nested calls of one function are a deep recursion.
constexpr size_t kManyLevels = 100;
// A frame that hasn't reached a tensor operation after this many checks
// computes something else, which plain Python does faster.
constexpr int64_t kChecksWithoutGraph = 400'000 / kStepsBetweenChecks;
// A loop may have no end that the trace can see: another thread ends it, or the
// graph's exception.
constexpr int64_t kMostChecks = 20'000'000 / kStepsBetweenChecks;
constexpr size_t kMostCalls = 500'000;
constexpr size_t kMostObjects = 1'000'000;
// Conditions and sums over so many random numbers take long to simplify, and
// plain Python draws them in no time.
constexpr size_t kMostDrawn = 1'000;

// The most nested frames that go on by themselves: each takes C stack.
constexpr size_t kMostInner = 32;

}  // namespace

Status Interpreter::check_progress() {
  // Natives may have subtracted several checks at once.
  checks_ += 1 - ctx.steps_to_check / kStepsBetweenChecks;
  ctx.steps_to_check = kStepsBetweenChecks;
  if (PyErr_CheckSignals() < 0) return Signal::Skip;
  if (ctx.must_be_whole) return done;
  if (ctx.graph().call_count() > kMostCalls || checks_ > kMostChecks ||
      ctx.heap.size() > kMostObjects)
    return ctx.skip("long-computation",
                    std::to_string(ctx.graph().call_count()) +
                        " tensor operations and no end in sight",
                    "compile what the loop calls");
  if (ctx.symbols.drawn_count() > kMostDrawn)
    return ctx.skip("long-computation",
                    std::to_string(ctx.symbols.drawn_count()) +
                        " random numbers and no end in sight",
                    "draw them as a tensor");
  if (checks_ > kChecksWithoutGraph && ctx.graph().call_count() == 0)
    return ctx.skip("long-computation",
                    std::to_string(checks_ * kStepsBetweenChecks) +
                        " instructions without a tensor operation",
                    "move the computation out of the compiled function");
  return done;
}

Outcome<Next> Interpreter::run(Frame& frame) {
  const Instruction* instructions = frame.code->instructions.data();
  Journal::Position before = ctx.journal.position();
  try {
    for (;;) {
      const Instruction instruction = instructions[frame.pc];
      frame.current = frame.pc++;
      before = ctx.journal.position();
      if (--ctx.steps_to_check < 0) [[unlikely]]
        MG_DO(check_progress());
      if (ctx.rehearses) [[unlikely]]
        rehearse(frame, instruction);
      MaybeBefore frame_before = before_step(frame, instruction);
      Outcome<Next> next = kHandlers[static_cast<size_t>(instruction.op)](
          *this, frame, instruction);
      if (frame.object) [[unlikely]]
        show_end(frame, next);
      next = after_step(frame, next, std::move(frame_before));
      if (!next) [[unlikely]] {
        Signal signal = next.signal();
        if (signal == Signal::Raised) signal = trace_back(frame);
        if (signal == Signal::Raised && unwind(frame)) continue;
        if (signal == Signal::Break) keep_broken(frame, before);
        return signal;
      }
      if (next.value() != Next::Continue) return next;
    }
  } catch (const values::BreakException& exception) {
    frame_ = &frame;
    const Signal signal = ctx.graph_break(exception);
    if (signal == Signal::Break) keep_broken(frame, before);
    return signal;
  }
}

namespace {

// Whether a library's function isn't cut in pieces: it is traced to its end or
// runs in plain Python. Functions that it calls may still be compiled.
bool is_whole(PyCodeObject* code) {
  const python::FrameAction action = python::frame_action(code);
  return action == python::FrameAction::Whole ||
         action == python::FrameAction::Pause ||
         action == python::FrameAction::Books;
}

// Whether the graph may break at this instruction of an inlined call.
bool stands_alone(const Context& ctx, PyCodeObject* code, int32_t index) {
  return !is_whole(code) && ctx.stands_alone(code, index);
}

}  // namespace

// A graph break leaves an inlined frame. If it can be gone on with by itself
// the frame is kept, with the state before its instruction; otherwise the
// caller's instruction is what breaks.
void Interpreter::keep_broken(Frame& frame, Journal::Position before) {
  ctx.direct_call = {};
  if (!ctx.keeps_inner_frames) return;
  // The frames that it calls are in a state of their own.
  if (broken_.empty()) ctx.journal.rollback(before);
  // No level of a transform is open between two graphs.
  if (broken_.empty() &&
      (tensor::is_in_transform() || ctx.items_by != values::ItemsBy::Number))
    return;
  if (!frame.direct.is_direct || broken_.size() >= kMostInner ||
      (broken_.empty() && !stands_alone(ctx, frame.py_code, frame.current))) {
    broken_.clear();
    return;
  }
  broken_.push_back({.code = frame.py_code,
                     .globals = frame.globals,
                     .index = static_cast<size_t>(frame.current),
                     .stack = std::move(frame.stack),
                     .locals = std::move(frame.locals),
                     .handlers = frame.handlers,
                     .handled = handled,
                     .before = before,
                     .object = frame.object,
                     .holds_operands = frame.direct.holds_operands});
  const auto through = frame.direct.through;
  for (size_t i = through.size(); i-- > 0;) {
    std::vector<V> stack(python::call_ex_operands(/*has_keywords=*/true),
                         ctx.none());
    stack[python::kNullOfEx] = ctx.null();
    broken_.push_back({.code = through[i].code,
                       .globals = through[i].globals,
                       .index = static_cast<size_t>(through[i].index),
                       .stack = std::move(stack),
                       .locals = {},
                       .before = before,
                       .holds_operands = frame.direct.holds_operands});
  }
}

void Interpreter::break_at_call() {
  const auto breaks_alone = [&](const values::BrokenFrame& frame) {
    // What calls it through C code is no frame of the trace.
    return !frame.locals.empty() &&
           stands_alone(ctx, frame.code, static_cast<int32_t>(frame.index));
  };
  const auto innermost =
      std::find_if(broken_.begin() + 1, broken_.end(), breaks_alone);
  broken_.erase(broken_.begin(), innermost);
  // The outermost frame handles what it did.
  const V handled_outside = handled;
  ctx.journal.rollback(broken_.empty() ? before_outermost_
                                       : broken_.front().before);
  handled = handled_outside;
}

namespace {

// Whether the stack is as deep as the table says after the instruction or where
// it jumps to.
[[maybe_unused]] bool has_moved_stack(const Frame& frame,
                                      const Instruction& instruction,
                                      size_t depth_before) {
  const auto moved = static_cast<int32_t>(frame.stack.size()) -
                     static_cast<int32_t>(depth_before);
  const bool falls = frame.pc == frame.current + 1 &&
                     moved == bytecode::stack_effect(instruction, false);
  const bool jumps = bytecode::info(instruction.op).jumps &&
                     frame.pc == instruction.arg &&
                     moved == bytecode::stack_effect(instruction, true);
  return falls || jumps;
}

}  // namespace

Outcome<Next> Interpreter::run_outermost(Frame& frame) {
  frame_ = &frame;
  const Instruction* instructions = frame.code->instructions.data();
  for (;;) {
    const Instruction instruction = instructions[frame.pc];
    frame.current = frame.pc++;
    const Journal::Position before = ctx.journal.position();
    const V handled_before = handled;
    if (ctx.rehearses) [[unlikely]]
      rehearse(frame, instruction);
    [[maybe_unused]] const size_t depth_before = frame.stack.size();
    MaybeBefore frame_before = before_step(frame, instruction);
    Outcome<Next> next = [&]() -> Outcome<Next> {
      try {
        return kHandlers[static_cast<size_t>(instruction.op)](*this, frame,
                                                              instruction);
      } catch (const values::BreakException& exception) {
        return ctx.graph_break(exception);
      }
    }();
    frame_ = &frame;
    if (frame.object) [[unlikely]]
      show_end(frame, next);
    next = after_step(frame, next, std::move(frame_before));
    if (--ctx.steps_to_check < 0) [[unlikely]]
      MG_DO(check_progress());
    if (!next) [[unlikely]] {
      Signal signal = next.signal();
      if (signal == Signal::Raised) signal = trace_back(frame);
      if (signal == Signal::Raised && unwind(frame)) continue;
      if (signal == Signal::Break) {
        if (broken_.empty()) ctx.journal.rollback(before);
        before_outermost_ = before;
        handled = handled_before;
        frame.pc = frame.current;
      }
      return signal;
    }
    if (next.value() != Next::Continue) return next;
    MG_DCHECK(has_moved_stack(frame, instruction, depth_before),
              std::string(bytecode::info(instruction.op).name) +
                  " must do to the stack what ops.def says");
  }
}

namespace {

// Instructions that re-raise an exception as it was. A bare `raise` without one
// is an error.
bool raises_again(const Instruction& instruction, bool is_handling) {
  return instruction.op == Op::Reraise || (instruction.op == Op::RaiseVarargs &&
                                           instruction.arg == 0 && is_handling);
}

// Of a traceback: whether the trace made it for this frame.
bool is_entry_of(const values::Context& ctx, V traceback, const Frame& frame) {
  return frame.object && traceback->heap.valid() &&
         ctx.heap[traceback->heap].slots[values::kFrame] == frame.object;
}

V unit_of(values::Context& ctx, const bytecode::Code& code, int32_t index) {
  return ctx.integer(code.instructions[static_cast<size_t>(index)].offset);
}

// lasti: the code unit that the frame is at. At the end of a handler it goes
// back to what the handler kept.
V last_unit(values::Context& ctx, Frame& frame) {
  const Instruction& at =
      frame.code->instructions[static_cast<size_t>(frame.current)];
  return at.op == Op::Reraise && at.arg > 0
             ? frame.top(static_cast<size_t>(at.arg) + 1)
             : unit_of(ctx, *frame.code, frame.current);
}

}  // namespace

bool is_polyfill(const Frame& frame) {
  PyObject* name =
      PyDict_GetItemWithError(frame.globals, interned().dunder_name);
  const char* chars =
      name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return chars && std::string_view(chars).starts_with("magneto.polyfills.");
}

// An exception leaves an instruction: the frame gets an entry in its traceback.
// A caller's exception object would have to be written to, so CPython must
// raise it, unless nothing sees it before the frame runs in plain Python
// anyway.
Signal Interpreter::trace_back(Frame& frame) {
  const Instruction& at =
      frame.code->instructions[static_cast<size_t>(frame.current)];
  if (is_polyfill(frame)) return Signal::Raised;
  V exception = ctx.exception();
  const auto& slots = ctx.heap[exception->heap].slots;
  if (raises_again(at, ctx.look(handled) != ctx.none())) {
    // No new entry: the frame shows the line that it has reached since.
    if (!slots.empty() &&
        is_entry_of(ctx, ctx.look(slots[values::kTraceback]), frame))
      show(frame, last_unit(ctx, frame));
    return Signal::Raised;
  }
  if (slots.empty()) {
    if (!is_caught(frame)) return Signal::Raised;
    (void)ctx.take_exception();
    return ctx.graph_break("c-attribute-write",
                           std::string("__traceback__ of a ") +
                               python::short_name(exception->type) +
                               " that was made outside",
                           "raise a new exception, or catch it outside");
  }
  V object = object_of(frame);
  ctx.heap.set_slot(exception->heap, values::kTraceback,
                    values::make_traceback(ctx, slots[values::kTraceback],
                                           object, at.offset));
  if (!frame.code->handler_for(frame.current))
    show(frame, ctx.integer(at.offset));
  return Signal::Raised;
}

V Interpreter::object_of(Frame& frame) {
  if (frame.object) return frame.object;
  V globals =
      frame.globals_value ? frame.globals_value : globals_value(frame.globals);
  frame.object = values::make_frame(
      ctx, frame.py_code, globals,
      frame.caller ? values::kNoPlace : values::kOutermostPlace);
  ctx.journal.record(this, kFrameObject, frame.object->heap.index);
  return frame.object;
}

// The making of a frame object is undone. Its frame is running, or a caller of
// the one that runs.
void Interpreter::forget_object(uint64_t id) noexcept {
  const auto is_that = [id](V object) {
    return object && object->heap.index == id;
  };
  for (Frame* frame = frame_; frame; frame = frame->caller)
    if (is_that(frame->object)) frame->object = nullptr;
  for (values::BrokenFrame& frame : broken_)
    if (is_that(frame.object)) frame.object = nullptr;
}

// What tools see in a frame object that they have from a traceback: the frame's
// variables when it ends or yields, and its caller's frame.
void Interpreter::show(Frame& frame, V unit) {
  if (!unit->is_constant()) return;
  values::show_in_frame(ctx, frame.object, unit, frame.locals);
  Frame* caller = frame.generator ? nullptr : frame.caller;
  while (caller && is_polyfill(*caller)) caller = caller->caller;
  if (caller)
    ctx.heap.set_slot(frame.object->heap, values::kBack, object_of(*caller));
}

void Interpreter::show_end(Frame& frame, const Outcome<Next>& next) {
  if (next && next.value() != Next::Continue)
    show(frame, unit_of(ctx, *frame.code, frame.current));
}

// The frame objects of frames that go on after the compiled piece show no
// variables: these would be values that the piece doesn't keep.
void Interpreter::show_left() {
  if (frame_->object)
    values::show_in_frame(ctx, frame_->object,
                          unit_of(ctx, *frame_->code, frame_->current), {});
  for (size_t i = 0; i < broken_.size(); ++i) {
    const values::BrokenFrame& frame = broken_[i];
    if (!frame.object) continue;
    values::show_in_frame(ctx, frame.object,
                          unit_of(ctx, python::decoded(frame.code),
                                  static_cast<int32_t>(frame.index)),
                          {});
    ctx.heap.set_slot(frame.object->heap, values::kPlace,
                      ctx.integer(static_cast<int64_t>(broken_.size() - i)));
  }
}

bool Interpreter::unwind(Frame& frame) {
  const bytecode::Handler* handler = frame.code->handler_for(frame.current);
  if (handler == nullptr) return false;
  const V lasti = last_unit(ctx, frame);
  frame.stack.resize(static_cast<size_t>(handler->depth));
  if (handler->push_lasti) frame.push(lasti);
  frame.push(ctx.take_exception());
  note_raised_object(frame.top());
  frame.pc = handler->target;
  return true;
}

Signal Interpreter::too_deep() {
  std::unordered_map<PyCodeObject*, size_t> levels;
  for (const Frame* at = frame_; at; at = at->caller) {
    PyCodeObject* code = at->py_code;
    // To trace it again from each of its calls would take too long.
    if (++levels[code] == kManyLevels)
      python::set_frame_action(code, python::FrameAction::Evaluate);
  }
  // How deep it is depends on who calls, which no guard knows.
  return ctx.skip("recursion",
                  std::to_string(depth_) + " calls inside of each other",
                  "use a loop");
}

Outcome<Next> Interpreter::run_nested(Frame& frame) {
  if (depth_ >= static_cast<size_t>(Py_GetRecursionLimit()) ||
      !has_stack_room())
    return too_deep();
  frame.caller = frame_;
  frame.caller_location = {};
  frame_ = &frame;
  ++depth_;
  const V handled_before = handled;
  frame.handled_outside = handled;
  if (frame.handled) handled = frame.handled;
  struct Leave {
    Interpreter& in;
    Frame& frame;
    V handled;
    ~Leave() {
      --in.depth_;
      in.frame_ = frame.caller;
      in.handled = handled;
    }
  } leave{*this, frame, handled_before};
  return run(frame);
}

// -- what natives ask ---------------------------------------------------------

graph::LocationId Interpreter::location(Frame& frame) {
  if (frame.caller && !frame.caller_location.valid())
    frame.caller_location = location(*frame.caller);
  int offset =
      frame.code->instructions[static_cast<size_t>(frame.current)].offset * 2;
  return ctx.graph().location(frame.py_code, offset, frame.caller_location);
}

graph::Origin Interpreter::origin() {
  if (!calls_in_blocks_ && is_in_block()) calls_in_blocks_ = true;
  return {location(), ctx.scope};
}

bool Interpreter::is_in_block() {
  for (const Frame* frame = frame_; frame; frame = frame->caller)
    if (frame->code->handler_for(frame->current)) return true;
  return false;
}

bool Interpreter::drops_result() const {
  const auto next = static_cast<size_t>(frame_->current) + 1;
  return frame_->code->instructions[next].op == bytecode::Op::PopTop;
}

graph::LocationId Interpreter::location() {
  return frame_ ? location(*frame_) : graph::LocationId{};
}

size_t Interpreter::depth() const {
  size_t depth = 0;
  for (const Frame* frame = frame_->caller; frame; frame = frame->caller)
    ++depth;
  return depth;
}

PyObject* Interpreter::current_globals() { return frame_->globals; }

namespace {

bool is_cell_slot(const Frame& frame, int32_t slot) {
  const PyCodeObject& code = *frame.py_code;
  if (slot >= code.co_nlocalsplus - code.co_nfreevars) return true;
  // They are made in the prologue.
  for (const Instruction& instruction : frame.code->instructions) {
    if (instruction.op == Op::Resume) break;
    if (instruction.op == Op::MakeCell && instruction.arg == slot) return true;
  }
  return false;
}

}  // namespace

const char* Interpreter::super_arguments(V* type, V* self) {
  Frame& frame = *frame_;
  if (frame.py_code->co_argcount == 0) return "super(): no arguments";
  // A frame that goes on after a break has cells of the caller's.
  const auto content_of = [&](int slot) -> V {
    V cell = ctx.look(frame.locals[static_cast<size_t>(slot)]);
    return cell->kind == Kind::Cell ? ctx.heap[cell->heap].slots[0] : nullptr;
  };
  V first = is_cell_slot(frame, 0) ? content_of(0) : frame.locals[0];
  if (!first || first->is_null()) return "super(): arg[0] deleted";
  for (int i = 0; i < frame.py_code->co_nlocalsplus; ++i) {
    if (PyUnicode_CompareWithASCIIString(frame.local_name(i), "__class__") != 0)
      continue;
    V content = content_of(i);
    if (!content || content->is_null()) return "super(): empty __class__ cell";
    *type = ctx.look(content);
    if (!(*type)->is_constant() || !PyType_Check((*type)->object))
      return "super(): __class__ is not a type";
    *self = first;
    return nullptr;
  }
  return "super(): __class__ cell not found";
}

std::vector<std::pair<PyObject*, V>> Interpreter::current_locals() {
  std::vector<std::pair<PyObject*, V>> all;
  Frame& frame = *frame_;
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    V value = frame.locals[i];
    // A frame that goes on after a break has cells of the caller's.
    if (value->kind == Kind::Lazy && PyCell_Check(value->object) &&
        is_cell_slot(frame, static_cast<int32_t>(i)))
      value = ctx.look(value);
    if (value->kind == Kind::Cell) value = ctx.heap[value->heap].slots[0];
    if (value && value->is_null()) value = nullptr;
    all.emplace_back(frame.local_name(static_cast<int32_t>(i)), value);
  }
  return all;
}

V Interpreter::globals_value(PyObject* globals) { return ctx.known(globals); }

}  // namespace magneto::trace
