// SPDX-License-Identifier: BSD-3-Clause
// The number of such an iterator is that of the items that it gave; -1 at the
// end.
#include "values/types/set_iterators.h"

#include "values/protocol/protocol.h"
#include "values/types/sets.h"

namespace magneto::values {

namespace {

enum Slot : size_t {
  kItems,  // those that the set had when the iterator was made, a tuple
  kSet,
  kVersionThen,  // -1: it was seen to have changed
};

std::span<const V> items_then(const HeapObject& state) {
  return tuple_items(state.slots[kItems]);
}

int64_t version_then(const HeapObject& state) {
  return PyLong_AsLongLong(state.slots[kVersionThen]->object);
}

// Whether the set is as it was when the iterator was made.
Status expect_unchanged(Context& ctx, V iterator) {
  constexpr int64_t kSeenToHaveChanged = -1;
  const HeapObject& state = ctx.heap[iterator->heap];
  if (state.slots[kSet]->is_constant()) return done;
  const DictState& now = *ctx.heap[state.slots[kSet]->heap].dict;
  const int64_t then = version_then(state);
  if (now.live != items_then(state).size() || then == kSeenToHaveChanged) {
    ctx.heap.set_slot(iterator->heap, kVersionThen,
                      ctx.integer(kSeenToHaveChanged));
    return ctx.raise(PyExc_RuntimeError, "Set changed size during iteration");
  }
  // As many items as before, but others: which come next is C's affair.
  if (now.version != then)
    return ctx.graph_break("c-protocol",
                           "items that change during an iteration",
                           "iterate over a copy of the set");
  return done;
}

}  // namespace

Outcome<V> set_iterator(Context& ctx, V set) {
  std::vector<V> items;
  int64_t version = 0;
  if (set->is_constant()) {
    const Ref all = Ref::steal(PySequence_Tuple(set->object));
    MG_CHECK(all, "out of memory");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
      MG_TRY(V item,
             from_constant(ctx, Ref::share(PyTuple_GET_ITEM(all.get(), i))));
      items.push_back(item);
    }
  } else {
    for (const DictEntry* entry : set_entries(ctx, set))
      items.push_back(entry->key);
    version = ctx.heap[set->heap].dict->version;
  }
  TupleValue then{};
  then.kind = Kind::Tuple;
  then.type = &PyTuple_Type;
  then.items = ctx.arena.copy(std::span<const V>(items));
  V slots[] = {ctx.arena.make<TupleValue>(then), set, ctx.integer(version)};
  return ctx.iterator(&PySetIter_Type, slots);
}

bool is_set_iterator(V iterator) { return iterator->type == &PySetIter_Type; }

Outcome<V> next_of_set(Context& ctx, V iterator) {
  const int64_t given = ctx.heap[iterator->heap].number;
  if (given < 0) return nullptr;
  MG_DO(expect_unchanged(ctx, iterator));
  const auto items = items_then(ctx.heap[iterator->heap]);
  const bool at_end = given == std::ssize(items);
  ctx.heap.set_number(iterator->heap, at_end ? -1 : given + 1);
  return at_end ? nullptr : items[static_cast<size_t>(given)];
}

std::optional<SetIteration> set_iteration(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  V set = state.slots[kSet];
  if (state.number < 0) return SetIteration{set, -1};
  if (set->is_constant()) return SetIteration{set, state.number};
  const DictState& now = *ctx.heap[set->heap].dict;
  const bool has_changed = now.live != items_then(state).size() ||
                           now.version != version_then(state);
  // The order of what is only made when the piece ends isn't known.
  if (has_changed || (state.number && !has_plain_history(now)))
    return std::nullopt;
  return SetIteration{set, state.number};
}

}  // namespace magneto::values
