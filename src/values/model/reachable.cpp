// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/reachable.h"

namespace magneto::values {

bool leads_nowhere(V value) {
  switch (value->kind) {
    case Kind::Null:
    case Kind::Lazy:
    case Kind::Symbol:
    case Kind::Text:
    case Kind::Tensor:
    case Kind::Constant:
      return !value->heap.valid();
    default:
      return false;
  }
}

void Reachable::add(V value) {
  push(value);
  drain();
}

void Reachable::drain() {
  while (!waiting_.empty()) {
    V next = waiting_.back();
    waiting_.pop_back();
    push_parts(next);
  }
}

void Reachable::push(V value) {
  const auto is_dropped = [this](V each) {
    return leaves_ == Leaves::Dropped && leads_nowhere(each);
  };
  // Constants stand for nothing else.
  if (!value || (value->kind == Kind::Constant && is_dropped(value))) return;
  value = ctx_.looked_at(value);
  if (is_dropped(value)) return;
  if (found_.insert(value).second) waiting_.push_back(value);
}

void Reachable::push_parts(V value) {
  switch (value->kind) {
    case Kind::Tuple:
    case Kind::Slice:
      push(tuple_items(value));
      break;
    case Kind::BoundMethod:
    case Kind::Super:
      push(as<MethodValue>(value)->function);
      push(as<MethodValue>(value)->self);
      break;
    case Kind::Function: {
      const auto* function = as<FunctionValue>(value);
      push(function->defaults);
      push(function->kwdefaults);
      push(function->closure);
      break;
    }
    default:
      break;
  }
  if (!value->heap.valid()) return;
  push_state(value->heap);
  push_state(ctx_.heap[value->heap].attributes);
}

void Reachable::push_state(HeapId id) {
  if (!id.valid()) return;
  const HeapObject& state = ctx_.heap[id];
  push(state.items);
  push(state.slots);
  if (!state.dict) return;
  for (const auto& entry : state.dict->entries) {
    push(entry.key);
    push(entry.value);
  }
}

}  // namespace magneto::values
