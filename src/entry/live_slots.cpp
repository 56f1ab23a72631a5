// SPDX-License-Identifier: BSD-3-Clause
#include "entry/live_slots.h"

#include <algorithm>

#include "entry/cache.h"
#include "tensor/fake_tensor.h"
#include "values/protocol.h"

namespace magneto::entry {
namespace {

using values::V;

// Whether somebody may see the death of `object`, by a weak reference to it or
// to what it holds, or since it calls back at another's death. Tensors aren't
// looked at: what they hold is worth more.
bool is_seen_from_outside(PyObject* object, int depth = 0) {
  constexpr int kDeepest = 2;
  constexpr Py_ssize_t kMost = 64;  // more items are like the first ones
  if (tensor::is_tensor(object)) return false;
  PyTypeObject* type = Py_TYPE(object);
  if (PyType_SUPPORTS_WEAKREFS(type) || PyWeakref_Check(object) ||
      type->tp_finalize)
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

// Whether `value` is `from`, or is found in it.
bool leads_to(const values::Context& ctx, V from, V value, int depth = 0) {
  constexpr int kDeepest = 3;
  if (from == value) return true;
  if (!from || depth > kDeepest) return false;
  const auto any = [&](std::span<const V> values) {
    return std::ranges::any_of(
        values, [&](V each) { return leads_to(ctx, each, value, depth + 1); });
  };
  if (from->kind == values::Kind::Tuple && any(values::tuple_items(from)))
    return true;
  if (from->kind == values::Kind::BoundMethod)
    return leads_to(ctx, values::as<values::MethodValue>(from)->self, value,
                    depth + 1);
  if (!from->heap.valid()) return false;
  const values::HeapObject& state = ctx.heap[from->heap];
  return any(state.items) || any(state.slots) ||
         (state.dict &&
          std::ranges::any_of(state.dict->entries, [&](const auto& entry) {
            return leads_to(ctx, entry.key, value, depth + 1) ||
                   leads_to(ctx, entry.value, value, depth + 1);
          }));
}

// What the trace made is seen by nobody before the instruction that breaks gets
// it. What an inlined call was given its caller has.
bool is_kept(const values::Context& ctx, V value, std::span<const V> operands,
             bool is_outermost) {
  if (!value || !value->type || value->kind == values::Kind::Tensor)
    return false;
  if (value->kind == values::Kind::Cell && is_outermost) {
    V content = ctx.heap[value->heap].slots[0];
    return content && content->source.valid() && content->object &&
           is_seen_from_outside(content->object);
  }
  if (!value->source.valid())
    return PyType_SUPPORTS_WEAKREFS(value->type) &&
           std::ranges::any_of(operands, [&](V each) {
             return each && leads_to(ctx, each, value);
           });
  // The frame's own, or unpacked from a tuple that was.
  guards::SourceId source = value->source;
  while (ctx.sources[source].kind == guards::SourceKind::TupleItem)
    source = ctx.sources[source].base;
  return is_outermost && value->object &&
         ctx.sources[source].kind == guards::SourceKind::Local &&
         is_seen_from_outside(value->object);
}

// Whether a variable is one that the frame of an inlined call has, too, and may
// write to when it goes on.
bool is_shared(std::span<const values::BrokenFrame> inner, V value) {
  return value && value->kind == values::Kind::Cell &&
         std::ranges::any_of(inner, [&](const auto& frame) {
           return std::ranges::find(frame.locals, value) != frame.locals.end();
         });
}

}  // namespace

LiveSlots live_slots(const values::Context& ctx, PyCodeObject* code,
                     const values::Capture& capture) {
  LiveSlots slots;
  if (capture.ending != values::Ending::Break) return slots;
  const std::span<const V> operands =
      capture.inner.empty() ? capture.stack : capture.inner.back().stack;
  const auto add_frame = [&](PyCodeObject* of, size_t index,
                             std::span<const V> locals) {
    std::vector<int32_t> kept;
    const auto inner = std::span(capture.inner).subspan(slots.live.size());
    for (size_t i = 0; i < locals.size(); ++i)
      if (is_kept(ctx, locals[i], operands, slots.live.empty()) ||
          is_shared(inner, locals[i]))
        kept.push_back(static_cast<int32_t>(i));
    std::vector<int32_t> live =
        CodeRecord::of(of).liveness(of).live_at(static_cast<int32_t>(index));
    for (int32_t slot : kept)
      if (std::ranges::find(live, slot) == live.end()) live.push_back(slot);
    std::ranges::sort(live);
    slots.live.push_back(std::move(live));
    slots.kept.push_back(std::move(kept));
  };
  add_frame(code, capture.index, capture.locals);
  for (const values::BrokenFrame& frame : capture.inner)
    add_frame(frame.code, frame.index, frame.locals);
  return slots;
}

}  // namespace magneto::entry
