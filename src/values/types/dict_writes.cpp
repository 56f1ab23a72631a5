// SPDX-License-Identifier: BSD-3-Clause
// How dicts become values, and which steps give real ones their items.
#include <algorithm>

#include "python/key_token.h"
#include "values/protocol/protocol.h"
#include "values/types/construction.h"
#include "values/types/hashed_keys.h"
#include "values/types/type_table.h"

namespace magneto::values {

bool is_hashed_in_python(const DictState& dict, const DictEntry& entry) {
  if (!python::holds_key_token(entry.token)) return false;
  const Py_hash_t hash = PyObject_Hash(entry.token);
  for (const DictEntry& other : dict.entries)
    if (&other != &entry && other.value && PyObject_Hash(other.token) == hash)
      cannot_rebuild("a dict or set with unlike keys of one hash");
  return true;
}

Outcome<V> key_count(Context& ctx, V keyed) {
  ctx.heap.dict_complete(keyed->heap, ctx);
  return ctx.integer(static_cast<int64_t>(ctx.heap[keyed->heap].dict->live));
}

V hash_of(Context& ctx, const DictEntry& entry) {
  return ctx.integer(PyObject_Hash(entry.token));
}

namespace {

V wrap(Context& ctx, PyObject* object, SourceId source) {
  return ctx.wrap_mapping(object, source);
}

// All items, or those that the trace has written. In the order of the dict
// beneath; an OrderedDict has its own from the first key on that was moved.
void set_items(Context& ctx, V owner, bool all, StepWriter& writer) {
  const DictState& dict = *ctx.heap[owner->heap].dict;
  std::vector<const DictEntry*> entries;
  for (const DictEntry& entry : dict.entries)
    if (entry.value) entries.push_back(&entry);
  const auto moved = std::ranges::find_if(entries, &DictEntry::is_moved);
  const std::vector<const DictEntry*> own_order(moved, entries.end());
  if (!own_order.empty()) std::ranges::sort(entries, {}, &DictEntry::addition);
  for (const DictEntry* entry : entries) {
    if (!all && !entry->written) continue;
    if (is_hashed_in_python(dict, *entry))
      writer.act(StepOp::SetHashedItem,
                 {owner, entry->key, entry->value, hash_of(ctx, *entry)});
    else
      writer.act(StepOp::SetItem, {owner, entry->key, entry->value});
  }
  for (const DictEntry* entry : own_order)
    writer.act(StepOp::MoveToEnd, {owner, entry->key});
}

void fill(Context& ctx, V dict, StepWriter& writer) {
  set_items(ctx, dict, true, writer);
}

// Whether the input has the key, and shan't.
bool is_dropped(const DictEntry& entry) {
  return entry.written && !entry.value && !entry.is_new && !entry.has_left;
}

void replay(Context& ctx, V dict, StepWriter& writer) {
  const DictState& state = *ctx.heap[dict->heap].dict;
  if (state.is_cleared) writer.act(StepOp::ClearDict, {dict});
  for (const DictEntry& entry : state.entries)
    if (is_dropped(entry)) writer.act(StepOp::DropItem, {dict, entry.key});
  set_items(ctx, dict, false, writer);
}

// Whoever goes over an OrderedDict notices keys that came and went.
void replay_ordered(Context& ctx, V dict, StepWriter& writer) {
  const DictState& state = *ctx.heap[dict->heap].dict;
  const bool shows =
      std::ranges::any_of(state.entries, [](const DictEntry& entry) {
        return is_dropped(entry) ||
               (entry.value && (entry.is_new || entry.is_moved));
      });
  if (state.version && !shows) {
    if (state.is_cleared) writer.act(StepOp::ClearDict, {dict});
    // Of a key that no program has.
    writer.act(StepOp::SetItem, {dict, nullptr, nullptr});
    writer.act(StepOp::DropItem, {dict, nullptr});
    return set_items(ctx, dict, false, writer);
  }
  replay(ctx, dict, writer);
}

std::optional<Construction> construct_default(Context& ctx, V dict) {
  const auto& slots = ctx.heap[dict->heap].slots;
  if (slots.empty()) return std::nullopt;
  return instance_of(ctx, dict, base_named(dict, "collections.defaultdict"),
                     {slots[0]});
}

}  // namespace

std::span<const TypeRow> dict_types() {
  static const TypeRow rows[] = {
      {.type = &PyDict_Type, .derived = true, .wrap = wrap, .replay = replay},
      {.type = &PyODict_Type, .derived = true, .replay = replay_ordered},
      {.name = "collections.defaultdict",
       .derived = true,
       .construct = construct_default},
      {.kind = Kind::Dict, .length = key_count, .fill = fill},
  };
  return rows;
}

}  // namespace magneto::values
