// SPDX-License-Identifier: BSD-3-Clause
#include "artifact/replay.h"

#include "values/types/caller_itertools.h"
#include "values/types/type_table.h"

namespace magneto::artifact {

using values::DictEntry;
using values::HeapObject;
using values::Kind;
using values::V;

void Replay::object(values::HeapId id) {
  const HeapObject& state = ctx_.heap[id];
  if (!state.changes || done_.contains(id.index)) return;
  if (!begun_.insert(id.index).second)
    cannot_rebuild("an iterator in the container that it goes over");
  replay(state);
  done_.insert(id.index);
}

void Replay::container(values::HeapId id) {
  // Iterators that were moved before can't be when it has changed.
  for (values::HeapId other : ctx_.heap.modified()) {
    if (other == id) break;
    V owner = ctx_.heap[other].owner;
    if (owner && owner->kind == Kind::Iterator) object(other);
  }
  object(id);
}

void Replay::all() {
  // Building meets no new modified objects.
  for (values::HeapId id : ctx_.heap.modified()) object(id);
}

void Replay::replay(const HeapObject& state) {
  if (state.attributes_of.valid()) {
    V object = ctx_.heap[state.attributes_of].owner;
    // A tensor of the graph's is no input, but has its own attributes.
    if (object->source.valid())
      replay_attributes(object, state);
    else if (V iterator = values::iterator_of_state(ctx_, object))
      values::replay_iterator_state(ctx_, iterator, state, rebuilder_);
    return;
  }
  V owner = state.owner;
  if (!owner->source.valid()) return;  // filled where it is made, if ever
  const auto replay_it = values::type_slot(&values::TypeRow::replay, owner);
  if (!replay_it)
    values::cannot_rebuild(std::string("a change to a ") +
                           owner->type->tp_name);
  replay_it(ctx_, owner, rebuilder_);
}

void Replay::replay_attributes(V object, const HeapObject& state) {
  if (state.dict->is_cleared) rebuilder_.act(StepOp::ClearAttributes, {object});
  // Those that the input has, and shan't.
  for (const DictEntry& entry : state.dict->entries)
    if (entry.written && !entry.value && !entry.is_new && !entry.has_left)
      rebuilder_.act(StepOp::DropAttribute, {object, entry.key});
  for (const DictEntry& entry : state.dict->entries)
    if (entry.written && entry.value)
      rebuilder_.act(StepOp::SetAttribute, {object, entry.key, entry.value});
}

}  // namespace magneto::artifact
