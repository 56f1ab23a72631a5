// SPDX-License-Identifier: BSD-3-Clause
#include "entry/resume/live_variables.h"

#include <algorithm>

#include "artifact/island.h"
#include "entry/cache.h"
#include "guards/finalizer.h"
#include "python/code_object.h"
#include "python/ownership.h"
#include "tensor/fake_tensor.h"
#include "values/model/reachable.h"
#include "values/protocol/protocol.h"

namespace magneto::entry {
namespace {

using values::V;

// Whether the program may see the death of `object`: by a weak reference to it
// or to what it holds, or because it is itself a weak reference with a
// callback. Tensors aren't looked at: it matters more that their memory is
// freed.
bool is_seen_from_outside(PyObject* object, int depth = 0) {
  constexpr int kDeepest = 2;
  constexpr Py_ssize_t kMost = 64;  // further items are taken to be alike
  if (tensor::is_tensor(object)) return false;
  PyTypeObject* type = Py_TYPE(object);
  if (PyType_SUPPORTS_WEAKREFS(type) || PyWeakref_Check(object) ||
      type->tp_finalize)
    return true;
  // Something else may put an object into it whose death is seen.
  if (depth > 0 && !python::is_held_only_here(object) &&
      (PyDict_CheckExact(object) || PyList_CheckExact(object)))
    return true;
  if (depth > kDeepest) return false;
  if (PyDict_CheckExact(object)) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    for (Py_ssize_t i = 0;
         i < kMost && PyDict_Next(object, &position, &key, &value); ++i)
      if (is_seen_from_outside(key, depth + 1) ||
          is_seen_from_outside(value, depth + 1))
        return true;
    return false;
  }
  // C code of other types may have pointers to what such an object owns.
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
    return !values::is_safe_type(type);
  for (Py_ssize_t i = 0; i < std::min(kMost, PySequence_Fast_GET_SIZE(object));
       ++i)
    if (is_seen_from_outside(PySequence_Fast_GET_ITEM(object, i), depth + 1))
      return true;
  return false;
}

// Whether variables of a frame have the caller's object.
bool has_object(const values::Context& ctx, std::span<const V> locals,
                PyObject* object) {
  return std::ranges::any_of(locals, [&](V each) {
    return each && ctx.looked_at(each)->object == object;
  });
}

bool is_tensor(V value) {
  return value->kind == values::Kind::Tensor ||
         (value->object && tensor::is_tensor(value->object));
}

// Whether the object of a dead variable must be kept after a break; otherwise
// it would die at once, although the variable lives on. It must where its death
// may be seen, and where the rest of the program gets hold of it and may put
// objects into it whose deaths are seen. `is_owner`: no other frame has the
// variable's object.
bool is_kept(const values::Context& ctx, V value,
             const values::Reachable& handed_on, bool is_outermost,
             bool is_owner) {
  if (!value || !value->type || is_tensor(value)) return false;
  if (value->kind == values::Kind::Cell && is_outermost) {
    V content = ctx.heap[value->heap].slots[0];
    return content && content->source.valid() && content->object &&
           is_seen_from_outside(content->object);
  }
  const auto may_be_filled = [&](V each) {
    return each->type && !is_tensor(each) &&
           (each->type == &PyList_Type || each->type == &PyDict_Type ||
            PyType_SUPPORTS_WEAKREFS(each->type)) &&
           handed_on.contains(each);
  };
  if (!value->source.valid()) {
    values::Reachable reached(ctx);
    reached.add(value);
    return std::ranges::any_of(reached, [&](V each) {
      return !each->source.valid() && may_be_filled(each);
    });
  }
  if (is_outermost && value->object && guards::has_finalizer(value->object))
    return true;
  // The frame's own, or unpacked from a tuple that was.
  guards::SourceId source = value->source;
  while (ctx.sources[source].kind == guards::SourceKind::TupleItem)
    source = ctx.sources[source].base;
  return is_owner && value->object &&
         ctx.sources[source].kind == guards::SourceKind::Local &&
         (is_seen_from_outside(value->object) || may_be_filled(value));
}

// What the trace has put into objects of the caller's.
void add_written(const values::Context& ctx, values::Reachable& handed_on) {
  for (values::HeapId id : ctx.heap.modified()) {
    const values::HeapObject& state = ctx.heap[id];
    V owner = state.attributes_of.valid() ? ctx.heap[state.attributes_of].owner
                                          : state.owner;
    if (owner && owner->source.valid()) handed_on.add_contents(owner);
  }
}

// Whether the variable's object has a finalizer. Such variables are kept live:
// the traces of the pieces look for where the object is dropped.
bool has_finalizer(const values::Context& ctx, V value) {
  if (value->kind == values::Kind::Cell) value = ctx.heap[value->heap].slots[0];
  return value && value->object && guards::has_finalizer(value->object);
}

bool hold_inference_modes(const values::Context& ctx,
                          const values::Capture& capture) {
  const std::vector<V>& modes = capture.inference_modes;
  if (modes.empty()) return true;
  values::Reachable held(ctx);
  const auto add_frame = [&](const auto& frame) {
    held.add(frame.locals);
    held.add(frame.stack);
    if constexpr (requires { frame.handled; }) held.add(frame.handled);
  };
  add_frame(capture);
  std::ranges::for_each(capture.inner, add_frame);
  std::ranges::for_each(capture.generators, add_frame);
  return std::ranges::all_of(modes,
                             [&](V mode) { return held.contains(mode); });
}

// The values of the trace that have a finalizer: inference modes, generators
// that are suspended in a block, and caller's objects with finalizers.
class Endings {
 public:
  Endings(const values::Context& ctx, const values::Capture& capture)
      : ctx_(ctx), capture_(capture) {
    has_any_ = !capture.inference_modes.empty() || capture.has_finalizers ||
               std::ranges::any_of(capture.generators,
                                   &values::SuspendedFrame::has_finalizer);
  }
  bool has(V value) const {
    if (!has_any_ || !value) return false;
    values::Reachable reached(ctx_);
    reached.add(value);
    reached.follow_generators([&](size_t number) {
      reached.add(capture_.generators[number].function);
      reached.add(capture_.generators[number].locals);
      reached.add(capture_.generators[number].stack);
    });
    return std::ranges::any_of(reached, [&](V each) { return is_one(each); });
  }

 private:
  static bool is_made_generator(V value) {
    return value->kind == values::Kind::Generator && value->heap.valid();
  }
  size_t number_of(V generator) const {
    return static_cast<size_t>(ctx_.heap[generator->heap].number);
  }
  bool is_one(V value) const {
    if (value->object && value->source.valid() && capture_.has_finalizers &&
        guards::has_finalizer(value->object))
      return true;
    return is_made_generator(value)
               ? capture_.generators[number_of(value)].has_finalizer
               : std::ranges::count(capture_.inference_modes, value) != 0;
  }

  const values::Context& ctx_;
  const values::Capture& capture_;
  bool has_any_ = false;
};

// Whether a variable is one that the frame of an inlined call has, too, and may
// write to when it goes on.
bool is_shared(std::span<const values::BrokenFrame> inner, V value) {
  return value && value->kind == values::Kind::Cell &&
         std::ranges::any_of(inner, [&](const auto& frame) {
           return std::ranges::find(frame.locals, value) != frame.locals.end();
         });
}

// Whether what comes after the instruction reads the variable on each way.
bool is_live_after(PyCodeObject* code, int32_t index, int32_t slot) {
  CodeRecord& record = CodeRecord::of(code);
  const bytecode::Liveness& liveness = record.liveness(code);
  const artifact::Island* island = record.island(code, index);
  if (!island) return false;
  const bytecode::Handler* handler = python::decoded(code).handler_for(index);
  const auto is_live_on = [&](const std::optional<artifact::Branch>& way) {
    return !way || (slot != way->clears && liveness.is_live(way->next, slot));
  };
  return is_live_on(island->through) && is_live_on(island->jump) &&
         (!handler || liveness.is_live(handler->target, slot));
}

// Whether the instruction by which a frame calls the next one has no operand
// with a finalizer.
bool is_left_by_operands(const Endings& endings, PyCodeObject* code,
                         size_t index, std::span<const V> stack) {
  const auto count = static_cast<size_t>(artifact::operand_count(code, index));
  return std::ranges::none_of(stack.last(std::min(count, stack.size())),
                              [&](V value) { return endings.has(value); });
}

}  // namespace

LiveVariables live_variables(const values::Context& ctx, PyCodeObject* code,
                             const values::Capture& capture) {
  LiveVariables slots;
  if (capture.ending != values::Ending::Break) return slots;
  const Endings endings(ctx, capture);
  slots.hold_inference_modes = hold_inference_modes(ctx, capture);
  const size_t frames = capture.inner.size() + 1;
  slots.live.resize(frames);
  slots.kept.resize(frames);
  slots.held.resize(frames);
  values::Reachable handed_on(ctx);
  add_written(ctx, handed_on);
  // From the innermost frame out: what its callers share with it is kept.
  const auto add_frame = [&](size_t depth, PyCodeObject* of, size_t index,
                             std::span<const V> locals,
                             std::span<const V> stack) {
    const auto inner = std::span(capture.inner).subspan(depth);
    if (inner.empty()) handed_on.add(stack);
    std::vector<int32_t>& live = slots.live[depth];
    live = CodeRecord::of(of).liveness(of).live_at(static_cast<int32_t>(index));
    for (int32_t slot : live) handed_on.add(locals[static_cast<size_t>(slot)]);
    std::vector<int32_t>& kept = slots.kept[depth];
    const auto is_owner = [&](V value) {
      if (depth == 0 || !value || !value->object) return depth == 0;
      bool others = has_object(ctx, capture.locals, value->object);
      for (size_t i = 0; i + 1 < depth; ++i)
        others |= has_object(ctx, capture.inner[i].locals, value->object);
      return !others;
    };
    for (size_t i = 0; i < locals.size(); ++i) {
      const auto slot = static_cast<int32_t>(i);
      const bool is_watched =
          endings.has(locals[i]) || is_shared(inner, locals[i]);
      if (!is_watched &&
          !is_kept(ctx, locals[i], handed_on, depth == 0, is_owner(locals[i])))
        continue;
      kept.push_back(slot);
      if (!is_watched && !has_finalizer(ctx, locals[i]))
        slots.held[depth].push_back(slot);
    }
    for (int32_t slot : kept)
      if (std::ranges::find(live, slot) == live.end()) live.push_back(slot);
    std::ranges::sort(live);
    for (int32_t i = 0; i < std::ssize(locals); ++i)
      if (std::ranges::find(kept, i) == kept.end() &&
          !(std::ranges::binary_search(live, i) &&
            is_live_after(of, static_cast<int32_t>(index), i)))
        slots.dropped.push_back(locals[static_cast<size_t>(i)]);
    for (int32_t slot : live) handed_on.add(locals[static_cast<size_t>(slot)]);
    handed_on.add(stack);
  };
  for (size_t depth = frames; depth-- > 1;) {
    const values::BrokenFrame& frame = capture.inner[depth - 1];
    add_frame(depth, frame.code, frame.index, frame.locals, frame.stack);
  }
  add_frame(0, code, capture.index, capture.locals, capture.stack);
  for (size_t i = 0; i < capture.inner.size(); ++i) {
    if (!capture.inner[i].holds_operands) continue;
    slots.hold_operands =
        slots.hold_operands &&
        (i == 0
             ? is_left_by_operands(endings, code, capture.index, capture.stack)
             : is_left_by_operands(endings, capture.inner[i - 1].code,
                                   capture.inner[i - 1].index,
                                   capture.inner[i - 1].stack));
  }
  return slots;
}

void guard_dropped(values::Context& ctx, const LiveVariables& slots) {
  values::Reachable held(ctx);
  for (V value : slots.dropped)
    if (value->source.valid())
      ctx.guard_no_finalizer(value);
    else
      held.add(value);
  for (V value : held)
    if (value->source.valid() &&
        ctx.sources[value->source].kind == guards::SourceKind::Local)
      ctx.guard_no_finalizer(value);
}

}  // namespace magneto::entry
