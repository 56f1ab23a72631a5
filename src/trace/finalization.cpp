// SPDX-License-Identifier: BSD-3-Clause
// Objects that die while their piece is traced. On a call the real objects
// live until the compiled piece ends, and then die all at once. Where the
// program could see the difference, by a finalizer or a weak reference, the
// graph breaks.
#include <algorithm>
#include <ranges>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "guards/constant.h"
#include "guards/finalizer.h"
#include "trace/interpreter.h"

namespace magneto::trace {

namespace {

// The caller's objects that are held by the values of frames.
class Held {
 public:
  static constexpr int kDeepest = 3;
  // `deepest`: through how many tuples, methods and cells that the trace made.
  explicit Held(const values::Heap& heap, int deepest = kDeepest)
      : heap_(heap), deepest_(deepest) {}

  void add(V value, int depth = 0) {
    if (!value || depth > deepest_) return;
    if (value->object) {
      holders_.try_emplace(value->object, value);
      values_.insert(value);
    }
    if (value->kind == Kind::Tuple)
      for (V item : values::tuple_items(value)) add(item, depth + 1);
    if (value->kind == Kind::BoundMethod) {
      const auto* method = values::as<values::MethodValue>(value);
      add(method->function, depth + 1);
      add(method->self, depth + 1);
    }
    if (value->kind == Kind::Cell) add(heap_[value->heap].slots[0], depth + 1);
  }
  // `given_away`: how many entries at the top of the stack a callee has taken.
  void add_frame(const Frame& frame, size_t given_away = 0) {
    for (V value : frame.locals) add(value);
    for (size_t i = 0; i + given_away < frame.stack.size(); ++i)
      add(frame.stack[i]);
  }
  // The frame and its callers.
  void add_frames(const Frame* frame, size_t given_away = 0) {
    for (; frame; frame = frame->caller) {
      add_frame(*frame, given_away);
      given_away = operands_given(*frame);
    }
  }
  bool contains(PyObject* object) const { return holders_.contains(object); }
  // The value itself, not the same object under another name.
  bool contains(V value) const { return values_.contains(value); }
  V holder_of(PyObject* object) const { return holders_.at(object); }

 private:
  const values::Heap& heap_;
  int deepest_;
  std::unordered_map<PyObject*, V> holders_;
  std::unordered_set<V> values_;
};

}  // namespace

void Interpreter::begin(const Frame& frame,
                        std::span<PyObject* const> arguments) {
  begun_ = frame.locals;
  begun_.insert(begun_.end(), frame.stack.begin(), frame.stack.end());
  if (frame.handlers) begun_.push_back(handled);
  begun_at_start_ = frame.pc == 0;
  for (V value : begun_) {
    if (!value->object || !guards::has_finalizer(value->object)) continue;
    has_finalizers_ = true;
    // At the start of a function its caller may hold the arguments, too.
    if (!begun_at_start_ ||
        std::ranges::find(arguments, value->object) != arguments.end())
      watched_.push_back(value);
  }
}

void Interpreter::end(bool returns) {
  if (!returns) show_left();
  if (begun_at_start_) return;
  // At a break, what the trace made may not be handed on: it isn't followed.
  Held held(ctx.heap, returns ? Held::kDeepest : 0);
  held.add_frames(frame_);
  held.add(handled);
  for (const values::BrokenFrame& frame : broken_)
    for (const auto* values : {&frame.locals, &frame.stack})
      for (V value : *values) held.add(value);
  for (V value : begun_) {
    if (!value->object || held.contains(value)) continue;
    V holder =
        held.contains(value->object) ? held.holder_of(value->object) : nullptr;
    if (holder && holder->source.valid() &&
        !guards::never_has_finalizer(value->object))
      // Another variable holds what this one has dropped.
      ctx.guards.same_object(value->source, holder->source);
    else
      ctx.guard_no_finalizer(value);
  }
  if (!returns) return;
  unchanged_.clear();
  for (size_t i = 0; i < frame_->locals.size(); ++i)
    if (V value = frame_->locals[i]; value && value == begun_[i])
      unchanged_.push_back(static_cast<int32_t>(i));
  // Those that would die in another order, see finalized_out_of_order().
  values::Reachable made(ctx);
  for (size_t i = 0; i < frame_->locals.size(); ++i) {
    V value = frame_->locals[i];
    if (!value || value == frame_->result) continue;
    if (!value->source.valid())
      made.add(value);
    else if (value != begun_[i] &&
             std::ranges::find(begun_, value) != begun_.end())
      guard_finalization_order(value);
  }
  follow_generators(made);
  for (V value : begun_)
    if (made.contains(value)) ctx.guard_no_finalizer(value);
}

// `value` has moved to another variable since the piece began. The order in
// which objects die then depends on which variables hold the same object.
void Interpreter::guard_finalization_order(V value) {
  ctx.guard_no_finalizer(value);
  if (guards::never_has_finalizer(value->object)) return;
  for (V other : begun_)
    if (other != value && other->object == value->object)
      ctx.guards.same_object(value->source, other->source);
}

std::vector<int32_t> Interpreter::written(const Frame& outermost) const {
  std::vector<int32_t> slots;
  for (size_t i = 0; i < outermost.locals.size(); ++i)
    if (outermost.locals[i] != begun_[i])
      slots.push_back(static_cast<int32_t>(i));
  return slots;
}

// Whether a variable has been written to that was dead when the piece began:
// the driver may have held its object until then
// (entry/resume/held_variables.h).
bool Interpreter::may_have_dropped_dead_variables() const {
  if (begun_at_start_) return false;
  const Frame* outermost = frame_;
  while (outermost->caller) outermost = outermost->caller;
  return std::ranges::any_of(written(*outermost), [&](int32_t slot) {
    return begun_[static_cast<size_t>(slot)]->is_null();
  });
}

bool Interpreter::surely_lives(PyObject* object) const {
  Held held(ctx.heap);
  held.add_frames(frame_);
  if (held.contains(object)) return true;
  if (may_have_dropped_dead_variables()) return false;
  // Whatever holds it may have died, or hold something else by now.
  for (V value : begun_)
    if (value->object && !held.contains(value->object) &&
        !guards::is_constant(value->object))
      return false;
  for (values::HeapId id : ctx.heap.modified())
    if (ctx.heap.is_callers(id)) return false;
  return true;
}

std::vector<V> Interpreter::FrameBefore::contents_of(
    const values::Heap& heap, const std::vector<V>& locals) {
  std::vector<V> contents;
  for (V value : locals)
    contents.push_back(value && value->kind == Kind::Cell
                           ? heap[value->heap].slots[0]
                           : nullptr);
  return contents;
}

void Interpreter::FrameBefore::restore(Frame& frame) && {
  frame.stack = std::move(stack);
  frame.locals = std::move(locals);
  frame.handlers = handlers;
}

// In plain Python, a function that returns drops its variables in their order.
// A piece that ends drops the values that it began with, in the order that
// these had. Gives a value with a finalizer that would run at another time,
// since the value has moved to another variable or is held by what the trace
// made; null if there is none.
V Interpreter::finalized_out_of_order(const Frame& frame) const {
  std::vector<V> wanted;
  const auto move_to_end = [this](std::vector<V>& order, V value) {
    const auto watched =
        std::ranges::find(watched_, value->object, &values::Value::object);
    if (watched == watched_.end()) return;
    std::erase(order, *watched);
    order.push_back(*watched);
  };
  for (V value : frame.locals) {
    if (!value || value == frame.result) continue;
    if (value->object) move_to_end(wanted, value);
    if (value->source.valid()) continue;
    values::Reachable reached(ctx);
    reached.add(value);
    follow_generators(reached);
    for (V watched : watched_)
      if (reached.contains(watched)) return watched;
  }
  // As the piece drops them: its stack, from the top, then its variables.
  std::vector<V> found;
  const auto stack = std::span(begun_).subspan(frame.locals.size());
  for (V value : stack | std::views::reverse) move_to_end(found, value);
  for (V value : std::span(begun_).first(frame.locals.size()))
    move_to_end(found, value);
  std::erase_if(found, [&](V value) {
    return std::ranges::find(wanted, value) == wanted.end();
  });
  const auto [here, there] = std::ranges::mismatch(wanted, found);
  return here == wanted.end() ? nullptr : *here;
}

// What the frame held before the step and doesn't hold any more.
std::vector<V> Interpreter::dropped_by_step(const Frame& frame,
                                            const FrameBefore& before,
                                            bool returns) const {
  const auto is_left = [&](V value) {
    if (returns) return value == frame.result;
    return std::ranges::find(frame.locals, value) != frame.locals.end() ||
           std::ranges::find(frame.stack, value) != frame.stack.end();
  };
  std::vector<V> dropped;
  const auto add_changed = [&](const std::vector<V>& old,
                               const std::vector<V>& now) {
    for (size_t i = 0; i < old.size(); ++i)
      if (old[i] && (returns || i >= now.size() || old[i] != now[i]) &&
          !is_left(old[i]))
        dropped.push_back(old[i]);
  };
  add_changed(before.stack, frame.stack);
  add_changed(before.locals, frame.locals);
  add_changed(before.contents,
              FrameBefore::contents_of(ctx.heap, frame.locals));
  if (before.handled != handled) dropped.push_back(before.handled);
  return dropped;
}

// The first value with a finalizer that dies by what the frame has dropped;
// null if there is none.
V Interpreter::dropped_with_finalizer(const Frame& frame,
                                      std::span<const V> dropped,
                                      bool returns) const {
  if (watched_.empty()) return nullptr;
  if (returns && !frame.caller)
    if (V gone = finalized_out_of_order(frame)) return gone;
  Held was_held(ctx.heap);
  for (V value : dropped) was_held.add(value);
  if (std::ranges::none_of(
          watched_, [&](V value) { return was_held.contains(value->object); }))
    return nullptr;
  // It dies unless something else surely holds it.
  Held held(ctx.heap);
  held.add(handled);
  if (returns) {
    held.add(frame.result);
    held.add_frames(frame.caller, operands_given(frame));
    // The outermost frame's variables are dropped after the piece.
    if (!frame.caller) held.add_frame(frame);
  } else {
    held.add_frames(&frame);
  }
  const auto gone = std::ranges::find_if(watched_, [&](V value) {
    return !held.contains(value->object) && was_held.contains(value->object);
  });
  return gone == watched_.end() ? nullptr : *gone;
}

Outcome<Next> Interpreter::finalize_dropped(Frame& frame, Outcome<Next> next,
                                            FrameBefore&& before) {
  const bool raises = !next && next.signal() == Signal::Raised;
  if (!next && !raises) return next;
  // For now, the stack is what the exception's handler will find. An exception
  // that leaves the frame holds the frame's variables (by its traceback).
  std::vector<V> stack;
  if (raises) {
    const bytecode::Handler* handler = frame.code->handler_for(frame.current);
    stack = before.stack;
    stack.resize(handler ? static_cast<size_t>(handler->depth) : 0);
    std::swap(stack, frame.stack);
  }
  const bool returns = next && next.value() == Next::Return;
  const std::vector<V> dropped = dropped_by_step(frame, before, returns);
  const V gone = dropped_with_finalizer(frame, dropped, returns);
  const Status ended = gone ? done : finalize_generators(frame, next, dropped);
  if (raises) std::swap(stack, frame.stack);
  if (!gone && ended) return next;
  if (raises) (void)ctx.take_exception();
  std::move(before).restore(frame);
  if (!gone) return ended.signal();
  return ctx.graph_break("finalizer", "what is let go of here is " +
                                          ctx.sources.print(gone->source));
}

}  // namespace magneto::trace
