// SPDX-License-Identifier: BSD-3-Clause
// Generators: frames that are left at a yield and entered again.
#include "python/names.h"
#include "trace/interpreter.h"
#include "values/model/speculation.h"
#include "values/protocol/attributes.h"
#include "values/types/exceptions.h"

namespace magneto::trace {

V Interpreter::make_generator(Frame& frame) {
  auto name = [this](V given, PyObject* in_code) {
    return given ? given : ctx.code_constant(in_code);
  };
  V names[] = {name(frame.function_name, frame.py_code->co_name),
               name(frame.qualified_name, frame.py_code->co_qualname)};
  V generator =
      ctx.iterator(&PyGen_Type, names, static_cast<int64_t>(generators_.size()),
                   Kind::Generator);
  auto state = std::make_unique<GeneratorState>();
  state->frame = std::move(frame);
  state->frame.generator = generator;
  state->frame.direct = {};  // its body returns to nobody
  generators_.push_back(std::move(state));
  set_phase(generators_.size() - 1, GeneratorState::Created);
  ctx.journal.record(this, kGeneratorMade, generators_.size() - 1);
  return generator;
}

// Whether closing the generator has an effect. It is closed and rolled back.
bool Interpreter::generator_has_finalizer(V generator) {
  // A graph break may be under way: its frames are kept.
  std::vector<values::BrokenFrame> broken = std::exchange(broken_, {});
  values::Speculation closing(ctx);
  V returned = nullptr;
  V exit = values::make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit), {});
  const Outcome<V> next = resume_generator(generator, nullptr, exit, &returned);
  // That the generator itself goes on doesn't count as an effect.
  bool noticed = closing.has_effects(this);
  if (next)
    noticed |= next.value() != nullptr;  // it yields
  else if (next.signal() == Signal::Raised)
    noticed |= !ctx.exception_is(PyExc_GeneratorExit);
  else
    noticed = true;
  closing.rollback();
  broken_ = std::move(broken);
  return noticed;
}

std::vector<values::SuspendedFrame> Interpreter::suspended_frames() {
  using Phase = GeneratorState::Phase;
  std::vector<values::SuspendedFrame> frames;
  for (size_t i = 0; i < generators_.size(); ++i) {
    const bool has_finalizer =
        is_in_block(*generators_[i]) &&
        generator_has_finalizer(generators_[i]->frame.generator);
    const GeneratorState* state = generators_[i].get();
    const Frame& frame = state->frame;
    values::SuspendedFrame suspended{.code = frame.py_code,
                                     .globals = frame.globals,
                                     .function = frame.function,
                                     .pc = frame.pc,
                                     .locals = frame.locals,
                                     .stack = frame.stack,
                                     .handled = frame.handled,
                                     .has_finalizer = has_finalizer};
    switch (state->phase) {
      case Phase::Created:
        suspended.phase = python::GeneratorPhase::Created;
        break;
      // Running: it would be of a call that breaks, which has been undone.
      case Phase::Suspended:
      case Phase::Running:
        suspended.phase = python::GeneratorPhase::Suspended;
        break;
      case Phase::Finished:
        suspended.phase = python::GeneratorPhase::Finished;
        suspended.locals.assign(frame.locals.size(), nullptr);
        suspended.stack.clear();
        suspended.function = nullptr;
        suspended.handled = nullptr;
        break;
    }
    frames.push_back(std::move(suspended));
  }
  return frames;
}

void Interpreter::set_phase(size_t generator, GeneratorState::Phase phase) {
  GeneratorState& state = *generators_[generator];
  state.phase = phase;
  std::erase(unfinished_, generator);
  if (phase != GeneratorState::Finished && !state.frame.code->handlers.empty())
    expect_finalization(generator);
}

std::optional<WrittenPart> Interpreter::written(uint64_t what,
                                                uint64_t index) const {
  switch (what) {
    case kGeneratorMade:
      return WrittenPart{.part = index, .is_new = true};
    case kGeneratorResumed:
      return WrittenPart{.part = index};
    default:
      return std::nullopt;
  }
}

std::string Interpreter::part_name(uint64_t generator) const {
  return "generator " + values::attribute_name(
                            generators_[generator]->frame.py_code->co_qualname);
}

std::string Interpreter::part_content(uint64_t generator) const {
  const GeneratorState& state = *generators_[generator];
  if (state.phase == GeneratorState::Finished) return "at its end";
  const int32_t at =
      state.frame.code->instructions[static_cast<size_t>(state.frame.pc)]
          .offset;
  return "in line " +
         std::to_string(PyCode_Addr2Line(state.frame.py_code, at * 2));
}

void Interpreter::undo(uint64_t what, uint64_t index) noexcept {
  if (what == kFrameObject) {
    forget_object(index);
    return;
  }
  if (what == kDropsTaken) {
    dropped_ = std::move(taken_drops_.back());
    taken_drops_.pop_back();
    return;
  }
  if (what == kGeneratorMade) {
    std::erase(unfinished_, generators_.size() - 1);
    generators_.pop_back();
    return;
  }
  // In place: a generator that is running holds a pointer to its frame.
  *generators_[index] = std::move(saved_generators_.back()->state);
  unfinished_ = std::move(saved_generators_.back()->unfinished);
  saved_generators_.pop_back();
}

// An exception has left a generator. A StopIteration becomes a RuntimeError: it
// would look like the generator's end.
Signal Interpreter::left_by_exception() {
  if (!ctx.exception_is(PyExc_StopIteration)) return Signal::Raised;
  V cause = ctx.take_exception();
  V message = ctx.string("generator raised StopIteration");
  V error = values::make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_RuntimeError), {&message, 1});
  const Signal signal = ctx.raise_value(error);
  for (PyObject* field : {interned().dunder_cause, interned().dunder_context})
    values::set_exception_field(ctx, error, field, cause);
  return signal;
}

// What a suspended frame takes its items from by `yield from`; null if it is
// at a yield of its own.
V Interpreter::delegate_of(const Frame& frame) const {
  const Instruction& next =
      frame.code->instructions[static_cast<size_t>(frame.pc)];
  constexpr int32_t kBehindYieldFrom = 2, kWhere = 3;
  if (next.op != bytecode::Op::Resume ||
      (next.arg & kWhere) != kBehindYieldFrom)
    return nullptr;
  return ctx.look(frame.top());
}

// Closes what a generator delegates to.
Status Interpreter::close_delegate(V delegate) {
  Outcome<V> closed = ctx.none();
  if (delegate->kind == Kind::Generator) {
    closed = values::call_method(ctx, delegate, interned().close, {});
  } else {
    Outcome<V> method = values::find_attribute(ctx, delegate, interned().close);
    if (!method && method.signal() == Signal::Raised)
      return ctx.graph_break("c-protocol",
                             "an error of reading close() that CPython drops");
    if (!method) return method.signal();
    if (method.value()) closed = values::call(ctx, method.value(), {});
  }
  if (!closed) return closed.signal();
  return done;
}

// throw() into a generator that delegates: the exception is thrown into its
// delegate. Gives what that yields. Null if the generator itself goes on: with
// the exception *thrown, or with *ended, which the delegate has returned.
Outcome<V> Interpreter::throw_into_delegate(V delegate, V* thrown, V* ended) {
  Outcome<V> item = nullptr;
  if (PyType_IsSubtype((*thrown)->type,
                       reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit))) {
    const Status closed = close_delegate(delegate);
    if (closed) return nullptr;
    item = closed.signal();
  } else if (delegate->kind == Kind::Generator) {
    V returned = nullptr;
    item = resume_generator(delegate, nullptr, *thrown, &returned);
    if (item && !item.value()) *ended = returned;
  } else {
    MG_TRY(V method, values::find_attribute(ctx, delegate, interned().throw_));
    if (method)
      return ctx.graph_break("native-call",
                             "throw() into a generator that delegates to a " +
                                 std::string(delegate->type->tp_name));
  }
  item = values::unless_stopped(ctx, item, ended);
  if (item || item.signal() != Signal::Raised) return item;
  *thrown = ctx.take_exception();
  return nullptr;
}

// The __context__ of a thrown exception is the exception that the generator is
// handling, not the one that the caller of throw() is handling.
Signal Interpreter::raise_thrown(V thrown, V handled_inside) {
  const V before =
      handled.exchange(handled_inside ? handled_inside : ctx.none());
  const Signal signal = ctx.raise_value(thrown);
  handled = before;
  return signal;
}

Outcome<V> Interpreter::resume_generator(V generator, V sent, V thrown,
                                         V* returned) {
  *returned = ctx.none();
  const auto index = static_cast<size_t>(ctx.heap[generator->heap].number);
  GeneratorState& state = *generators_[index];
  using Phase = GeneratorState::Phase;
  if (state.phase == Phase::Running)
    return ctx.raise(PyExc_ValueError, "generator already executing");
  if (state.phase == Phase::Finished) {
    if (thrown) return raise_thrown(thrown, nullptr);
    return nullptr;
  }
  if (state.phase == Phase::Created && sent && !sent->is_null() &&
      ctx.look(sent) != ctx.none())
    return ctx.raise(PyExc_TypeError,
                     "can't send non-None value to a just-started generator");
  saved_generators_.push_back(
      std::make_unique<SavedGenerator>(state, unfinished_));
  ctx.journal.record(this, kGeneratorResumed, index);

  Frame& frame = state.frame;
  const Phase before = state.phase;
  set_phase(index, Phase::Running);
  Outcome<Next> next = Next::Continue;
  V ended = nullptr;
  V delegate =
      thrown && before == Phase::Suspended ? delegate_of(frame) : nullptr;
  if (delegate) {
    Outcome<V> item = throw_into_delegate(delegate, &thrown, &ended);
    if (!item || item.value()) {
      set_phase(index, Phase::Suspended);
      return item;
    }
  }
  if (ended) {
    // After the loop that sends to the delegate: SEND, YIELD_VALUE, RESUME.
    const Instruction& send =
        frame.code->instructions[static_cast<size_t>(frame.pc) - 2];
    MG_CHECK(send.op == bytecode::Op::Send, "what a generator delegates by");
    frame.replace(1, ended);
    frame.pc = send.arg;
  } else if (thrown) {
    (void)raise_thrown(thrown, frame.handled);
    const Signal signal = trace_back(frame);
    if (signal != Signal::Raised) return signal;
    if (before == Phase::Created || !unwind(frame)) {
      set_phase(index, Phase::Finished);
      return left_by_exception();
    }
  } else {
    frame.push(sent ? sent : ctx.none());
  }
  next = run_nested(frame);
  if (next && next.value() == Next::Yield) {
    set_phase(index, Phase::Suspended);
    return frame.result;
  }
  set_phase(index, Phase::Finished);
  if (next) {
    *returned = frame.result;
    return nullptr;
  }
  return next.signal() == Signal::Raised ? left_by_exception() : next.signal();
}

}  // namespace magneto::trace
