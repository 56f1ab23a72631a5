// SPDX-License-Identifier: BSD-3-Clause
// What may have died since the trace began. The real program's objects live
// through a compiled piece, at whose end everything happens at once: where the
// difference could be seen, the graph breaks.
#include <unordered_set>

#include "guards/constant.h"
#include "trace/interpreter.h"

namespace magneto::trace {

namespace {

// The caller's objects that values hold.
class Held {
 public:
  explicit Held(const values::Heap& heap) : heap_(heap) {}

  void add(V value, int depth = 0) {
    constexpr int kDeepest = 3;
    if (!value || depth > kDeepest) return;
    if (value->object) objects_.insert(value->object);
    if (value->kind == Kind::Tuple)
      for (V item : values::tuple_items(value)) add(item, depth + 1);
    if (value->kind == Kind::BoundMethod) {
      const auto* method = values::as<values::MethodValue>(value);
      add(method->function, depth + 1);
      add(method->self, depth + 1);
    }
    if (value->kind == Kind::Cell) add(heap_[value->heap].slots[0], depth + 1);
  }
  bool contains(PyObject* object) const { return objects_.contains(object); }

 private:
  const values::Heap& heap_;
  std::unordered_set<PyObject*> objects_;
};

bool is_callers(const values::Heap& heap, const values::HeapObject& state) {
  V owner = state.attributes_of.valid() ? heap[state.attributes_of].owner
                                        : state.owner;
  return owner->source.valid();
}

}  // namespace

void Interpreter::begin(const Frame& frame) {
  globals_ = frame.globals;
  begun_ = frame.locals;
  begun_.insert(begun_.end(), frame.stack.begin(), frame.stack.end());
}

bool Interpreter::surely_lives(PyObject* object) const {
  Held held(ctx.heap);
  for (const Frame* frame = frame_; frame; frame = frame->caller) {
    for (V value : frame->locals) held.add(value);
    for (V value : frame->stack) held.add(value);
  }
  if (held.contains(object)) return true;
  // What holds it may be gone, or hold something else by now.
  for (V value : begun_)
    if (value->object && !held.contains(value->object) &&
        !guards::is_constant(value->object))
      return false;
  for (values::HeapId id : ctx.heap.modified())
    if (is_callers(ctx.heap, ctx.heap[id])) return false;
  return true;
}

}  // namespace magneto::trace
