// SPDX-License-Identifier: BSD-3-Clause
// The number of such an iterator is its place among the dict's entries: that of
// the next one or, backwards, one behind it; -1 at the end.
#include "values/types/dict_iterators.h"

#include <algorithm>

#include "values/protocol/protocol.h"

namespace magneto::values {

namespace {

enum Slot : size_t {
  kDict,
  kSizeThen,  // when the iterator was made; -1: it was seen to have changed
  kVersionThen,
  kWay,  // the part, and whether backwards
};

struct Row {
  DictPart part;
  bool backwards;
  PyTypeObject* type;
};
const Row kRows[] = {
    {DictPart::Keys, false, &PyDictIterKey_Type},
    {DictPart::Values, false, &PyDictIterValue_Type},
    {DictPart::Items, false, &PyDictIterItem_Type},
    {DictPart::Keys, true, &PyDictRevIterKey_Type},
    {DictPart::Values, true, &PyDictRevIterValue_Type},
    {DictPart::Items, true, &PyDictRevIterItem_Type},
};

bool is_ordered(V dict) { return is_instance_of(dict, &PyODict_Type); }

int64_t number_in(const HeapObject& state, Slot slot) {
  return PyLong_AsLongLong(state.slots[slot]->object);
}

const Row& way(const HeapObject& state) {
  return kRows[static_cast<size_t>(number_in(state, kWay))];
}

// The place of the next entry that is there, or -1.
int64_t next_place(const DictState& dict, int64_t place, bool backwards) {
  const int64_t step = backwards ? -1 : 1;
  if (backwards) --place;
  for (; place >= 0 && place < std::ssize(dict.entries); place += step)
    if (dict.entries[static_cast<size_t>(place)].value) return place;
  return -1;
}

Signal raise_changed(Context& ctx, const std::string& what) {
  return ctx.raise(PyExc_RuntimeError, what + " during iteration");
}

// Whether the dict is as it was when the iterator was made.
Status expect_unchanged(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  V dict = state.slots[kDict];
  const DictState& now = *ctx.heap[dict->heap].dict;
  const bool has_other_size =
      static_cast<int64_t>(now.live) != number_in(state, kSizeThen);
  const bool has_other_keys = now.version != number_in(state, kVersionThen);
  if (is_ordered(dict) && has_other_keys) {
    ctx.heap.set_number(iterator->heap, -1);
    return raise_changed(ctx, "OrderedDict mutated");
  }
  if (has_other_size) {
    ctx.heap.set_slot(iterator->heap, kSizeThen, ctx.integer(-1));
    return raise_changed(ctx, is_ordered(dict) ? "OrderedDict changed size"
                                               : "dictionary changed size");
  }
  // As many keys as before, but others: which come next is C's affair.
  if (has_other_keys)
    return ctx.graph_break("c-protocol", "keys that change during an iteration",
                           "iterate over a copy of the keys");
  return done;
}

}  // namespace

V dict_iterator(Context& ctx, V dict, DictPart part, bool backwards) {
  ctx.heap.dict_complete(dict->heap, ctx);
  const DictState& now = *ctx.heap[dict->heap].dict;
  const size_t row = static_cast<size_t>(part) + (backwards ? 3 : 0);
  V slots[] = {dict, ctx.integer(static_cast<int64_t>(now.live)),
               ctx.integer(now.version),
               ctx.integer(static_cast<int64_t>(row))};
  const int64_t place = backwards ? std::ssize(now.entries) : 0;
  return ctx.iterator(is_ordered(dict) ? &PyODictIter_Type : kRows[row].type,
                      slots, place);
}

bool is_dict_iterator(V iterator) {
  return iterator->type == &PyODictIter_Type ||
         std::ranges::any_of(
             kRows, [&](const Row& row) { return row.type == iterator->type; });
}

Outcome<V> next_of_dict(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  if (state.number < 0) return nullptr;
  MG_DO(expect_unchanged(ctx, iterator));
  V dict = state.slots[kDict];
  const auto& [part, backwards, type] = way(state);
  const DictState& now = *ctx.heap[dict->heap].dict;
  const int64_t place = next_place(now, state.number, backwards);
  if (place < 0) {
    ctx.heap.set_number(iterator->heap, -1);
    return nullptr;
  }
  int64_t behind = backwards ? place : place + 1;
  // An OrderedDict's knows whether there is another one.
  if (is_ordered(dict) && next_place(now, behind, backwards) < 0) behind = -1;
  ctx.heap.set_number(iterator->heap, behind);
  const DictEntry& entry = now.entries[static_cast<size_t>(place)];
  if (part == DictPart::Keys) return entry.key;
  if (part == DictPart::Values) return entry.value;
  V pair[] = {entry.key, entry.value};
  return ctx.tuple(pair);
}

std::optional<DictIteration> dict_iteration(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  V dict = state.slots[kDict];
  const auto& [part, backwards, type] = way(state);
  if (state.number < 0) return DictIteration{dict, part, backwards, -1};
  const DictState& now = *ctx.heap[dict->heap].dict;
  if (static_cast<int64_t>(now.live) != number_in(state, kSizeThen) ||
      now.version != number_in(state, kVersionThen))
    return std::nullopt;
  // clear() of an empty dict leaves fewer entries, and changes nothing.
  const auto place = static_cast<size_t>(
      std::min<int64_t>(state.number, std::ssize(now.entries)));
  const auto given = backwards ? std::span(now.entries).subspan(place)
                               : std::span(now.entries).first(place);
  const auto passed = std::ranges::count_if(
      given, [](const DictEntry& entry) { return entry.value != nullptr; });
  return DictIteration{dict, part, backwards, passed};
}

}  // namespace magneto::values
