// SPDX-License-Identifier: BSD-3-Clause
// The finalizers of generators. One that the trace made may be suspended inside
// of a with or try block. When its last reference is dropped, CPython closes
// it: a GeneratorExit is raised in it, and the block's handlers run. The trace
// does the same at that instruction. A generator that something else may hold,
// or that is in a cycle, stays suspended: then no piece is compiled
// (Rebuilder::expect_no_finalizers in artifact/), unless the program still
// refers to it.
#include <algorithm>

#include "python/call_layout.h"
#include "trace/interpreter.h"
#include "values/types/exceptions.h"

namespace magneto::trace {

namespace {

constexpr auto kHolders = values::Reachable::Leaves::Dropped;

// Whether `frame` and all its callers were called by instructions. A function
// that C code calls isn't: C code may hold the arguments.
bool is_called_by_instructions(const Frame& frame) {
  for (const Frame* each = &frame; each->caller; each = each->caller) {
    const Frame& caller = *each->caller;
    const Op op =
        caller.code->instructions[static_cast<size_t>(caller.current)].op;
    const bool is_resumed =
        each->generator && (op == Op::ForIter || op == Op::Send);
    if (!each->direct.is_direct && !is_resumed) return false;
  }
  return true;
}

// Whether a generator that the trace made may be reached from the value. The
// caller's objects go on holding what they hold.
bool may_hold_generator(V value) {
  return value && !value->source.valid() && !values::leads_nowhere(value);
}

// The most entries that an instruction may take off the stack.
size_t most_operands(const Instruction& instruction) {
  // The most of all instructions whose operands aren't counted by `arg`.
  constexpr size_t kMost = python::call_ex_operands(/*has_keywords=*/true);
  return instruction.op == Op::Call
             ? python::call_operands(static_cast<size_t>(instruction.arg))
             : kMost;
}

}  // namespace

// Whether the frame may hold fewer generators after the instruction than before
// it. An instruction that builds a container moves its operands into it.
bool Interpreter::may_drop_generators(const Frame& frame,
                                      const Instruction& instruction) const {
  const size_t taken = std::min(frame.stack.size(), most_operands(instruction));
  const auto& locals = frame.locals;
  switch (instruction.op) {
    case Op::StoreFast:
    case Op::DeleteFast:
      return may_hold_generator(locals[static_cast<size_t>(instruction.arg)]);
    case Op::ReturnValue:
      return std::ranges::any_of(locals, may_hold_generator);
    // These, and functions that are called, may drop what an object holds.
    case Op::StoreDeref:
    case Op::DeleteDeref:
    case Op::StoreGlobal:
    case Op::DeleteGlobal:
    case Op::StoreName:
    case Op::DeleteName:
    case Op::StoreAttr:
    case Op::DeleteAttr:
    case Op::StoreSubscr:
    case Op::DeleteSubscr:
    case Op::Call:
    case Op::CallFunctionEx:
      return true;
    default:
      return std::any_of(frame.stack.end() - static_cast<std::ptrdiff_t>(taken),
                         frame.stack.end(), may_hold_generator);
  }
}

// The generator may be suspended inside of a with or try block.
void Interpreter::expect_finalization(size_t generator) {
  unfinished_.push_back(generator);
  ctx.heap.note_drops(&dropped_);
}

void Interpreter::add_frame(values::Reachable& reachable,
                            size_t generator) const {
  const GeneratorState& state = *generators_[generator];
  if (state.phase != GeneratorState::Finished)
    reachable.add(state.frame.function);
  reachable.add(state.frame.locals);
  reachable.add(state.frame.stack);
}

void Interpreter::follow_generators(values::Reachable& reachable) const {
  reachable.follow_generators(
      [&](size_t generator) { add_frame(reachable, generator); });
}

// What is still held after the step of `frame`.
values::Reachable Interpreter::held_after(const Frame& frame,
                                          const Outcome<Next>& next) const {
  values::Reachable held(ctx, kHolders);
  size_t given_away = 0;
  const Frame* each = &frame;
  if (next && next.value() != Next::Continue) held.add(frame.result);
  if (next && next.value() == Next::Return) {
    given_away = operands_given(frame);
    each = frame.caller;
  }
  for (; each; each = each->caller) {
    held.add(each->locals);
    held.add(each->namespace_value);
    held.add(std::span(each->stack)
                 .first(each->stack.size() -
                        std::min(given_away, each->stack.size())));
    given_away = operands_given(*each);
  }
  held.add(handled);
  if (!next) held.add(ctx.exception());
  for (values::HeapId id : ctx.heap.modified())
    if (ctx.heap.is_callers(id)) held.add(ctx.heap[id].owner);
  follow_generators(held);
  return held;
}

// A generator that nothing holds any more since `dropped` was dropped; one that
// isn't held by another such generator comes first. Null if there is none.
V Interpreter::generator_to_finalize(const Frame& frame,
                                     const Outcome<Next>& next,
                                     std::span<const V> dropped) const {
  const auto is_left = [this](size_t number) {
    return is_in_block(*generators_[number]);
  };
  if (std::ranges::none_of(unfinished_, is_left)) return nullptr;
  std::vector<V> gone;
  for (V value : dropped) {
    if (!may_hold_generator(value)) continue;
    values::Reachable reached(ctx, kHolders);
    reached.add_contents(value);
    follow_generators(reached);
    // What is in a cycle lives until the garbage collector finds it.
    if (reached.contains(value)) continue;
    reached.add(value);
    follow_generators(reached);
    for (size_t number : unfinished_) {
      V generator = generators_[number]->frame.generator;
      if (is_left(number) && reached.contains(generator))
        gone.push_back(generator);
    }
  }
  if (gone.empty()) return nullptr;
  const values::Reachable held = held_after(frame, next);
  std::erase_if(gone, [&](V generator) { return held.contains(generator); });
  const auto holds = [this](V holder, V generator) {
    values::Reachable reached(ctx, kHolders);
    add_frame(reached, static_cast<size_t>(ctx.heap[holder->heap].number));
    follow_generators(reached);
    return reached.contains(generator);
  };
  const auto found = std::ranges::find_if(gone, [&](V generator) {
    return std::ranges::none_of(
        gone, [&](V holder) { return holds(holder, generator); });
  });
  return found == gone.end() ? nullptr : *found;
}

// As generator.close(): raises a GeneratorExit in it.
Status Interpreter::finalize_generator(V generator) {
  V exit = values::make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit), {});
  V returned = nullptr;
  const Outcome<V> next = resume_generator(generator, nullptr, exit, &returned);
  const bool has_raised = !next && next.signal() == Signal::Raised;
  if (!next && !has_raised) return next.signal();
  const bool has_ended = has_raised ? ctx.exception_is(PyExc_GeneratorExit)
                                    : next.value() == nullptr;
  if (has_raised) (void)ctx.take_exception();
  if (has_ended) return done;
  return ctx.graph_break(
      "finalizer",
      "a generator that is let go of here raises an error, or "
      "yields, when it ends");
}

Status Interpreter::finalize_generators(const Frame& frame,
                                        const Outcome<Next>& next,
                                        std::span<const V> dropped) {
  if (unfinished_.empty() || (dropped.empty() && dropped_.empty()) ||
      !is_called_by_instructions(frame))
    return done;
  std::vector<V> gone = dropped_;
  if (!dropped_.empty()) {
    taken_drops_.push_back(std::exchange(dropped_, {}));
    ctx.journal.record(this, kDropsTaken);
  }
  gone.insert(gone.end(), dropped.begin(), dropped.end());
  for (;;) {
    V generator = generator_to_finalize(frame, next, gone);
    if (!generator) return done;
    if (next) {
      MG_DO(finalize_generator(generator));
      continue;
    }
    V raised = ctx.take_exception();
    const Status ended = finalize_generator(generator);
    // The exception that was under way goes on.
    const V before = handled.exchange(raised);
    (void)ctx.raise_value(raised);
    handled = before;
    MG_DO(ended);
  }
}

}  // namespace magneto::trace
