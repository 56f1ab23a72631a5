// SPDX-License-Identifier: BSD-3-Clause
// Such an iterator's number is an index into the dict's entries: that of the
// next entry or, for a reversed iterator, one more than it; -1 at the end.
#include "values/types/dict_iterators.h"

#include <algorithm>

#include "values/protocol/protocol.h"

namespace magneto::values {

namespace {

enum Slot : size_t {
  kDict,
  kSizeThen,  // of the dict when the iterator was made; -1: a change was met
  kVersionThen,
  kClassIndex,  // in kIteratorClasses
};

struct IteratorClass {
  DictPart part;
  bool backwards;
  PyTypeObject* type;
};
const IteratorClass kIteratorClasses[] = {
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

const IteratorClass& iterator_class(const HeapObject& state) {
  return kIteratorClasses[static_cast<size_t>(number_in(state, kClassIndex))];
}

// The index of the next entry that isn't deleted, or -1.
int64_t next_index(const DictState& dict, int64_t index, bool backwards) {
  const int64_t step = backwards ? -1 : 1;
  if (backwards) --index;
  for (; index >= 0 && index < std::ssize(dict.entries); index += step)
    if (dict.entries[static_cast<size_t>(index)].value) return index;
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
  // As many keys as before, but others: which come next only CPython knows.
  if (has_other_keys)
    return ctx.graph_break("c-protocol", "keys that change during an iteration",
                           "iterate over a copy of the keys");
  return done;
}

}  // namespace

V dict_iterator(Context& ctx, V dict, DictPart part, bool backwards) {
  ctx.heap.dict_complete(dict->heap, ctx);
  const DictState& now = *ctx.heap[dict->heap].dict;
  const size_t class_index = static_cast<size_t>(part) + (backwards ? 3 : 0);
  V slots[] = {dict, ctx.integer(static_cast<int64_t>(now.live)),
               ctx.integer(now.version),
               ctx.integer(static_cast<int64_t>(class_index))};
  const int64_t index = backwards ? std::ssize(now.entries) : 0;
  return ctx.iterator(
      is_ordered(dict) ? &PyODictIter_Type : kIteratorClasses[class_index].type,
      slots, index);
}

bool is_dict_iterator(V iterator) {
  return iterator->type == &PyODictIter_Type ||
         std::ranges::any_of(kIteratorClasses, [&](const IteratorClass& each) {
           return each.type == iterator->type;
         });
}

Outcome<V> next_of_dict(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  if (state.number < 0) return nullptr;
  MG_DO(expect_unchanged(ctx, iterator));
  V dict = state.slots[kDict];
  const auto& [part, backwards, type] = iterator_class(state);
  const DictState& now = *ctx.heap[dict->heap].dict;
  const int64_t index = next_index(now, state.number, backwards);
  if (index < 0) {
    ctx.heap.set_number(iterator->heap, -1);
    return nullptr;
  }
  int64_t after_it = backwards ? index : index + 1;
  // The iterator of an OrderedDict knows whether another entry follows.
  if (is_ordered(dict) && next_index(now, after_it, backwards) < 0)
    after_it = -1;
  ctx.heap.set_number(iterator->heap, after_it);
  const DictEntry& entry = now.entries[static_cast<size_t>(index)];
  if (part == DictPart::Keys) return entry.key;
  if (part == DictPart::Values) return entry.value;
  V pair[] = {entry.key, entry.value};
  return ctx.tuple(pair);
}

std::optional<DictIteration> dict_iteration(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  V dict = state.slots[kDict];
  const auto& [part, backwards, type] = iterator_class(state);
  if (state.number < 0) return DictIteration{dict, part, backwards, -1};
  const DictState& now = *ctx.heap[dict->heap].dict;
  if (static_cast<int64_t>(now.live) != number_in(state, kSizeThen) ||
      now.version != number_in(state, kVersionThen))
    return std::nullopt;
  // clear() of an empty dict leaves fewer entries, and changes nothing.
  const auto index = static_cast<size_t>(
      std::min<int64_t>(state.number, std::ssize(now.entries)));
  const auto given = backwards ? std::span(now.entries).subspan(index)
                               : std::span(now.entries).first(index);
  const auto passed = std::ranges::count_if(
      given, [](const DictEntry& entry) { return entry.value != nullptr; });
  return DictIteration{dict, part, backwards, passed};
}

}  // namespace magneto::values
