// SPDX-License-Identifier: BSD-3-Clause
#include "artifact/replay.h"

#include <algorithm>

#include "values/protocol/protocol.h"
#include "values/types/caller_itertools.h"
#include "values/types/context_variables.h"

namespace magneto::artifact {

using values::DictEntry;
using values::HeapObject;
using values::Kind;
using values::V;

namespace {

// Whether the caller's has the key, and shan't.
bool is_dropped(const DictEntry& entry) {
  return entry.written && !entry.value && !entry.is_new && !entry.has_left;
}

}  // namespace

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
    // A tensor of the graph's is not the caller's, but has its own attributes.
    if (object->source.valid())
      replay_attributes(object, state);
    else if (V iterator = values::iterator_of_state(ctx_, object))
      replay_state(iterator, state);
    return;
  }
  V owner = state.owner;
  if (!owner->source.valid()) return;  // filled where it is made, if ever
  switch (owner->kind) {
    case Kind::List:
      return replay_list(owner, state);
    case Kind::Dict:
      return replay_dict(owner, state);
    case Kind::Set:
      return replay_set(owner, state);
    case Kind::Cell:
      return replay_cell(owner, state);
    case Kind::Iterator:
      return replay_iterator(owner, state);
    case Kind::Tensor:
      // In-place operations are in the graph.
      return rebuilder_.set_gradient(owner, rebuilder_.build(owner));
    case Kind::Object:
      if (owner->type == &PyContextVar_Type) return replay_variable(owner);
      [[fallthrough]];
    default:
      cannot_rebuild(std::string("a change to a ") + owner->type->tp_name);
  }
}

// Where all that it still has of its old items stands in front of new ones, the
// others went at its left end; else it gets its items anew.
void Replay::replay_deque(V owner, const HeapObject& state) {
  const std::vector<V>& items = state.items;
  const auto old_size = static_cast<size_t>(Py_SIZE(owner->object));
  const auto is_old = [&](V item, size_t at) {
    return item->kind == Kind::Lazy &&
           item->source == ctx_.sources.deque_item(owner->source, at);
  };
  // Its length, which iterators look at, is what it was all the time.
  if (state.number == 0) {
    for (size_t i = 0; i < items.size(); ++i)
      if (!is_old(items[i], i))
        builder_.act(StepOp::SetDequeItem,
                     {rebuilder_.build(owner),
                      builder_.constant(Ref::steal(PyLong_FromSize_t(i))),
                      rebuilder_.build(items[i])});
    return;
  }
  size_t kept = 0;
  if (!state.is_unread && !items.empty()) {
    size_t dropped = 0;
    while (dropped < old_size && !is_old(items[0], dropped)) ++dropped;
    kept = old_size - dropped;
    if (kept > items.size()) kept = 0;
    for (size_t i = 0; i < kept; ++i)
      if (!is_old(items[i], dropped + i)) kept = 0;
  }
  std::vector<Operand> operands{rebuilder_.build(owner)};
  const bool shifts = state.is_unread || (kept && kept < items.size());
  if (shifts) {
    const size_t dropped = state.is_unread ? 0 : old_size - kept;
    operands.push_back(
        builder_.constant(Ref::steal(PyLong_FromSize_t(dropped))));
  } else {
    kept = 0;
  }
  for (size_t i = kept; i < items.size(); ++i)
    operands.push_back(rebuilder_.build(items[i]));
  builder_.act(shifts ? StepOp::ShiftDeque : StepOp::AssignList, operands);
}

void Replay::replay_list(V owner, const HeapObject& state) {
  if (!PyList_Check(owner->object)) return replay_deque(owner, state);
  // Items that the trace left where they were needn't be read.
  const std::vector<V>& items = state.items;
  if (state.is_unread) {
    Ref end = Ref::steal(PyLong_FromSsize_t(PY_SSIZE_T_MAX));
    const Operand at = builder_.constant(std::move(end));
    std::vector<Operand> operands{rebuilder_.build(owner), at, at};
    for (V item : items) operands.push_back(rebuilder_.build(item));
    builder_.act(StepOp::SpliceList, operands);
    return;
  }
  // Its own: a subclass may say another number.
  const PyTypeObject* plain = owner->type;
  while (plain->tp_flags & Py_TPFLAGS_HEAPTYPE) plain = plain->tp_base;
  const auto old_size =
      static_cast<size_t>(plain->tp_as_sequence->sq_length(owner->object));
  auto is_old = [&](size_t now, size_t before) {
    return items[now]->kind == Kind::Lazy &&
           items[now]->source == ctx_.sources.list_item(owner->source, before);
  };
  size_t head = 0, tail = 0;
  const size_t shorter = std::min(items.size(), old_size);
  while (head < shorter && is_old(head, head)) ++head;
  while (head + tail < shorter &&
         is_old(items.size() - 1 - tail, old_size - 1 - tail)) {
    ++tail;
  }
  if (head + tail == items.size() && items.size() == old_size) return;
  std::vector<Operand> operands{rebuilder_.build(owner)};
  operands.push_back(builder_.constant(Ref::steal(PyLong_FromSize_t(head))));
  operands.push_back(
      builder_.constant(Ref::steal(PyLong_FromSize_t(old_size - tail))));
  for (size_t i = head; i < items.size() - tail; ++i)
    operands.push_back(rebuilder_.build(items[i]));
  builder_.act(StepOp::SpliceList, operands);
}

void Replay::replay_dict(V owner, const HeapObject& state) {
  Operand target = rebuilder_.build(owner);
  const auto& entries = state.dict->entries;
  if (state.dict->is_cleared) builder_.act(StepOp::ClearDict, {target});
  // Whoever goes over an OrderedDict notices keys that came and went.
  const bool shows = std::ranges::any_of(entries, [](const DictEntry& entry) {
    return is_dropped(entry) ||
           (entry.value && (entry.is_new || entry.is_moved));
  });
  if (state.dict->version && !shows &&
      values::is_instance_of(owner, &PyODict_Type)) {
    const Operand other = builder_.constant(null_token());
    builder_.act(StepOp::SetItem, {target, other, other});
    builder_.act(StepOp::DropItem, {target, other});
  }
  for (const DictEntry& entry : entries)
    if (is_dropped(entry))
      builder_.act(StepOp::DropItem, {target, rebuilder_.build(entry.key)});
  rebuilder_.set_items(*state.dict, target, false);
}

void Replay::replay_set(V owner, const HeapObject& state) {
  const Operand target = rebuilder_.build(owner);
  if (state.dict->is_cleared) builder_.act(StepOp::ClearSet, {target});
  rebuilder_.change_set(state, target);
}

void Replay::replay_attributes(V object, const HeapObject& state) {
  Operand target = rebuilder_.build(object);
  if (state.dict->is_cleared) builder_.act(StepOp::ClearAttributes, {target});
  for (const DictEntry& entry : state.dict->entries)
    if (is_dropped(entry))
      builder_.act(StepOp::DropAttribute,
                   {target, rebuilder_.build(entry.key)});
  for (const DictEntry& entry : state.dict->entries)
    if (entry.written && entry.value)
      builder_.act(StepOp::SetAttribute, {target, rebuilder_.build(entry.key),
                                          rebuilder_.build(entry.value)});
}

void Replay::replay_cell(V owner, const HeapObject& state) {
  V content = state.slots[0];
  if (content && !content->is_null())
    builder_.act(StepOp::SetCell,
                 {rebuilder_.build(owner), rebuilder_.build(content)});
  else
    builder_.act(StepOp::ClearCell, {rebuilder_.build(owner)});
}

// A ContextVar that had no value and has none again needs nothing.
void Replay::replay_variable(V variable) {
  const V now = values::value_now(ctx_, variable);
  // Somebody may hold the token, which says what there was before.
  if (V token = values::token_of_now(ctx_, variable)) {
    (void)rebuilder_.build(token);
    return;
  }
  if (now != values::value_before(ctx_, variable) && !now->is_null())
    builder_.act(StepOp::SetContextVar,
                 {rebuilder_.build(variable), rebuilder_.build(now)});
}

// One that the caller had begun (values/types/caller_iterators.cpp).
void Replay::replay_iterator(V owner, const HeapObject& state) {
  if (owner->type == &PyEnum_Type) {
    builder_.act(StepOp::SetEnumerate,
                 {rebuilder_.build(owner), rebuilder_.build(state.slots[1])});
    return;
  }
  builder_.act(
      StepOp::AdvanceIterator,
      {rebuilder_.build(owner),
       builder_.constant(Ref::steal(PyLong_FromLongLong(state.number)))});
}

// One of itertools' that the caller had begun
// (values/types/caller_itertools.h).
void Replay::replay_state(V iterator, const HeapObject& attributes) {
  for (const DictEntry& entry : attributes.dict->entries) {
    if (!entry.written) continue;
    const values::IteratorWrite write =
        values::iterator_write(ctx_, iterator, entry.key->object, entry.value);
    builder_.act(StepOp::SetIteratorWord,
                 {rebuilder_.build(iterator),
                  builder_.constant(Ref::steal(PyLong_FromSize_t(write.word))),
                  write.value ? rebuilder_.build(write.value)
                              : builder_.constant(null_token())});
  }
}

}  // namespace magneto::artifact
