// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/heap.h"

#include <algorithm>
#include <cstdio>

namespace magneto::values {

Heap::~Heap() = default;

HeapId Heap::make() {
  HeapId id{objects_.size()};
  objects_.emplace_back();
  journal_.record(this, static_cast<uint64_t>(Undo::Make), id.index);
  return id;
}

void Heap::share_since(size_t size) {
  for (size_t i = size; i < objects_.size(); ++i) objects_[i].is_shared = true;
}

void Heap::touch(HeapId id) {
  if (!is_shared(id)) return;
  touched_shared_ = true;
}

void Heap::mark(HeapId id, Change change) {
  touch(id);
  HeapObject& object = at(id);
  if (is_callers(id)) ++callers_writes_;
  const auto bit = static_cast<uint8_t>(change);
  if (object.changes & bit) return;
  saved_.push_back({.count = object.changes});
  if (object.changes == 0) modified_.push_back(id);
  object.changes |= bit;
  journal_.record(this, static_cast<uint64_t>(Undo::Mark), id.index);
}

bool Heap::is_callers(HeapId id) const {
  const HeapObject& object = at(id);
  V owner = object.attributes_of.valid()
                ? objects_[object.attributes_of.index].owner
                : object.owner;
  return owner && owner->source.valid();
}

void Heap::drop(HeapId id, V value) {
  if (drops_ && value && !value->source.valid()) [[unlikely]] {
    drops_->push_back(value);
    journal_.record(this, static_cast<uint64_t>(Undo::Drop));
  }
  if (value && value->object && value->source.valid() && is_callers(id))
    callers_->check_drop(value);
}

// -- sequences ----------------------------------------------------------------

void Heap::read_items(HeapId id) {
  std::vector<V> before = callers_->items(at(id).owner);
  HeapObject& object = at(id);
  saved_.push_back({.count = static_cast<int64_t>(before.size())});
  object.items.insert(object.items.begin(), before.begin(), before.end());
  object.is_unread = false;
  journal_.record(this, static_cast<uint64_t>(Undo::Items), id.index);
}

void Heap::splice(HeapId id, size_t position, size_t removed,
                  std::span<const V> inserted) {
  (void)items(id);
  splice_known(id, position, removed, inserted);
}

void Heap::splice_known(HeapId id, size_t position, size_t removed,
                        std::span<const V> inserted) {
  auto& items = at(id).items;
  MG_CHECK(position + removed <= items.size(), "a splice stays in the list");
  auto first = items.begin() + static_cast<std::ptrdiff_t>(position);
  auto last = first + static_cast<std::ptrdiff_t>(removed);
  for (auto item = first; item != last; ++item) drop(id, *item);
  mark(id, Change::Items);
  saved_.push_back({.position = position,
                    .count = static_cast<int64_t>(inserted.size()),
                    .items = std::vector<V>(first, last)});
  journal_.record(this, static_cast<uint64_t>(Undo::Splice), id.index);
  // `inserted` may be a part of `items` itself.
  std::vector<V> copy(inserted.begin(), inserted.end());
  items.erase(first, last);
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(position),
               copy.begin(), copy.end());
}

void Heap::set_item(HeapId id, size_t position, V value) {
  splice(id, position, 1, {&value, 1});
}

void Heap::extend(HeapId id, std::span<const V> values) {
  splice_known(id, at(id).items.size(), 0, values);
}

// -- mappings -----------------------------------------------------------------

void Heap::make_dict(HeapId id, bool complete) {
  auto state = std::make_unique<DictState>();
  state->index = Ref::steal(PyDict_New());
  MG_CHECK(state->index, "out of memory");
  state->complete = complete;
  at(id).dict = std::move(state);
}

namespace {

Py_ssize_t index_of(const DictState& dict, PyObject* token) {
  PyObject* position = PyDict_GetItemWithError(dict.index, token);
  if (position == nullptr) {
    MG_CHECK(!PyErr_Occurred(), "a token hashes and compares without error");
    return -1;
  }
  return PyLong_AsSsize_t(position);
}

void set_index(DictState& dict, PyObject* token, Py_ssize_t position) {
  Ref number = Ref::steal(PyLong_FromSsize_t(position));
  int failed = position < 0 ? PyDict_DelItem(dict.index, token)
                            : PyDict_SetItem(dict.index, token, number);
  MG_CHECK(!failed, "a token hashes and compares without error");
}

// At the end, where the index finds it.
void add_entry(DictState& dict, DictEntry entry) {
  set_index(dict, entry.token, static_cast<Py_ssize_t>(dict.entries.size()));
  if (entry.value) ++dict.live;
  if (!entry.is_moved) entry.addition = dict.additions++;
  dict.entries.push_back(std::move(entry));
}

std::unique_ptr<DictState> copy_of(const DictState& dict) {
  auto copy = std::make_unique<DictState>();
  copy->complete = dict.complete;
  copy->live = dict.live;
  copy->deletions = dict.deletions;
  copy->additions = dict.additions;
  copy->is_cleared = dict.is_cleared;
  copy->version = dict.version;
  copy->finger = dict.finger;
  for (const SetMerge& merge : dict.merges)
    copy->merges.push_back(
        {merge.other.share(), merge.drops, merge.entries, merge.deletions});
  copy->index = Ref::steal(PyDict_Copy(dict.index));
  MG_CHECK(copy->index, "out of memory");
  copy->entries.reserve(dict.entries.size());
  for (const DictEntry& entry : dict.entries)
    copy->entries.push_back({entry.key, entry.value, entry.token.share(),
                             entry.written, entry.is_new, entry.entries_before,
                             entry.is_popped, entry.deletion, entry.addition,
                             entry.is_moved, entry.has_left});
  return copy;
}

}  // namespace

void Heap::dict_initial(HeapId id, V key, V value, Ref token) {
  DictState& dict = *at(id).dict;
  Py_ssize_t position = index_of(dict, token);
  if (position >= 0) {
    dict.entries[static_cast<size_t>(position)].value = value;
    return;
  }
  add_entry(dict, {key, value, std::move(token), false});
}

Py_ssize_t Heap::find(HeapId id, PyObject* token) const {
  return index_of(*(*this)[id].dict, token);
}

void Heap::dict_note(HeapId id, V key, V value, PyObject* token) {
  DictState& dict = *at(id).dict;
  Py_ssize_t before = index_of(dict, token);
  MG_CHECK(before < 0, "a key is noted once");
  saved_.push_back({.count = before, .flag = value != nullptr});
  add_entry(dict, {key, value, Ref::share(token), false});
  journal_.record(this, static_cast<uint64_t>(Undo::EntryNote), id.index);
}

void Heap::dict_set(HeapId id, V key, V value, PyObject* token) {
  DictState& dict = *at(id).dict;
  Py_ssize_t before = index_of(dict, token);
  if (before >= 0) drop(id, dict.entries[static_cast<size_t>(before)].value);
  mark(id, Change::Entries);
  if (before >= 0) {
    DictEntry& entry = dict.entries[static_cast<size_t>(before)];
    if (entry.value) {
      saved_.push_back({.position = static_cast<size_t>(before),
                        .value = entry.value,
                        .flag = entry.written});
      entry.value = value;
      entry.written = true;
      journal_.record(this, static_cast<uint64_t>(Undo::EntryValue), id.index);
      return;
    }
  }
  // New, or deleted before: either way it goes to the end.
  const bool is_new = before >= 0 || dict.complete;
  saved_.push_back({.count = before, .flag = true});
  add_entry(dict, {key, value, Ref::share(token), true, is_new});
  dict.version += is_new;
  journal_.record(this, static_cast<uint64_t>(Undo::EntryAdd), id.index);
}

void Heap::dict_delete(HeapId id, PyObject* token, bool is_popped) {
  DictState& dict = *at(id).dict;
  Py_ssize_t position = index_of(dict, token);
  MG_CHECK(position >= 0, "a key that is deleted must be there");
  DictEntry& entry = dict.entries[static_cast<size_t>(position)];
  MG_CHECK(entry.value, "a key that is deleted must be there");
  drop(id, entry.key);
  drop(id, entry.value);
  mark(id, Change::Entries);
  saved_.push_back({.position = static_cast<size_t>(position),
                    .value = entry.value,
                    .flag = entry.written});
  entry.value = nullptr;
  entry.written = true;
  entry.entries_before = static_cast<uint32_t>(dict.entries.size());
  entry.is_popped = is_popped;
  entry.deletion = dict.deletions++;
  --dict.live;
  ++dict.version;
  journal_.record(this, static_cast<uint64_t>(Undo::EntryValue), id.index);
}

void Heap::dict_move_to_end(HeapId id, PyObject* token) {
  DictState& dict = *at(id).dict;
  MG_CHECK(dict.complete, "only what is known has an order");
  const Py_ssize_t before = index_of(dict, token);
  MG_CHECK(before >= 0, "a key that is moved must be there");
  mark(id, Change::Entries);
  DictEntry& entry = dict.entries[static_cast<size_t>(before)];
  DictEntry moved{.key = entry.key,
                  .value = entry.value,
                  .token = Ref::share(token),
                  .written = entry.written,
                  .is_new = entry.is_new,
                  .addition = entry.addition,
                  .is_moved = true};
  saved_.push_back({.position = static_cast<size_t>(before),
                    .value = entry.value,
                    .flag = entry.written});
  entry.value = nullptr;
  entry.has_left = true;
  --dict.live;
  ++dict.version;
  journal_.record(this, static_cast<uint64_t>(Undo::EntryValue), id.index);
  saved_.push_back({.count = before, .flag = true});
  dict.version += moved.is_new;
  add_entry(dict, std::move(moved));
  journal_.record(this, static_cast<uint64_t>(Undo::EntryAdd), id.index);
}

void Heap::dict_clear(HeapId id, std::optional<Py_ssize_t> finger) {
  for (const DictEntry& entry : at(id).dict->entries) {
    if (!entry.value) continue;
    drop(id, entry.key);
    drop(id, entry.value);
  }
  mark(id, Change::Entries);
  Saved saved;
  saved.dict = std::move(at(id).dict);
  const uint32_t version = saved.dict->version;
  saved_.push_back(std::move(saved));
  journal_.record(this, static_cast<uint64_t>(Undo::Dict), id.index);
  make_dict(id, true);
  at(id).dict->is_cleared = true;
  at(id).dict->version = version;
  at(id).dict->finger = finger;
}

void Heap::set_merge(HeapId id, Ref other, bool drops) {
  mark(id, Change::Entries);
  SetMerge merge{.other = std::move(other), .drops = drops};
  DictState& set = *at(id).dict;
  merge.entries = set.entries.size();
  merge.deletions = set.deletions;
  set.merges.push_back(std::move(merge));
  ++set.version;
  saved_.push_back({});
  journal_.record(this, static_cast<uint64_t>(Undo::Merge), id.index);
}

void Heap::dict_complete(HeapId id, Backing& backing) {
  if (at(id).dict->complete) return;
  std::vector<V> keys = backing.keys(id);
  // Read what has not been read yet; this only adds notes.
  for (V key : keys) {
    if (index_of(*at(id).dict, key->object) < 0)
      (void)backing.read(id, key, key->object);
  }
  Saved saved;
  saved.dict = copy_of(*at(id).dict);
  saved_.push_back(std::move(saved));
  journal_.record(this, static_cast<uint64_t>(Undo::Complete), id.index);

  // The caller's keys that were deleted, which nothing finds any more; those
  // that are there, in their order; then the keys that the trace added, in the
  // order of their addition. A key that was deleted and set again has an older,
  // dead entry and counts as added.
  DictState& dict = *at(id).dict;
  std::vector<DictEntry> old = std::move(dict.entries);
  Ref old_index = std::move(dict.index);
  auto old_position = [&](PyObject* token) {
    PyObject* position = PyDict_GetItemWithError(old_index, token);
    MG_CHECK(position, "every key has been read");
    return PyLong_AsSize_t(position);
  };
  std::vector<bool> added(old.size());
  for (size_t i = 0; i < old.size(); ++i) {
    size_t current = old_position(old[i].token);
    if (current != i) added[current] = true;
  }
  dict.entries.clear();
  dict.index = Ref::steal(PyDict_New());
  MG_CHECK(dict.index, "out of memory");
  for (DictEntry& entry : old)
    if (!entry.value && entry.written && !entry.is_new)
      dict.entries.push_back(std::exchange(entry, DictEntry{}));
  const size_t deleted = dict.entries.size();
  auto take = [&](DictEntry& entry) {
    if (!entry.value) return;
    set_index(dict, entry.token, static_cast<Py_ssize_t>(dict.entries.size()));
    dict.entries.push_back(std::exchange(entry, DictEntry{}));
  };
  for (V key : keys) {
    size_t position = old_position(key->object);
    if (added[position]) continue;
    // The entry may have been found by another key that is equal.
    old[position].key = key;
    take(old[position]);
  }
  for (DictEntry& entry : old) take(entry);
  dict.live = dict.entries.size() - deleted;
  dict.complete = true;
}

// -- slots and numbers --------------------------------------------------------

void Heap::set_slot(HeapId id, size_t slot, V value) {
  auto& slots = at(id).slots;
  if (slot < slots.size()) drop(id, slots[slot]);
  mark(id, Change::Slots);
  while (slots.size() <= slot) {
    slots.push_back(nullptr);
    journal_.record(this, static_cast<uint64_t>(Undo::Slots), id.index);
  }
  saved_.push_back({.position = slot, .value = slots[slot]});
  slots[slot] = value;
  journal_.record(this, static_cast<uint64_t>(Undo::Slot), id.index);
}

void Heap::set_number(HeapId id, int64_t number) {
  mark(id, Change::Slots);
  HeapObject& object = at(id);
  saved_.push_back({.count = object.number});
  object.number = number;
  journal_.record(this, static_cast<uint64_t>(Undo::Number), id.index);
}

void Heap::set_node(HeapId id, graph::NodeRef node) {
  HeapObject& object = at(id);
  saved_.push_back(
      {.position = object.node.node.index, .count = object.node.graph.index});
  object.node = node;
  journal_.record(this, static_cast<uint64_t>(Undo::Node), id.index);
}

void Heap::set_attributes(HeapId id, HeapId attributes) {
  at(id).attributes = attributes;
  objects_[attributes.index].attributes_of = id;
  journal_.record(this, static_cast<uint64_t>(Undo::Attributes), id.index);
}

// -- undo ---------------------------------------------------------------------

void Heap::undo(uint64_t a, uint64_t b) noexcept {
  const auto what = static_cast<Undo>(a);
  if (what == Undo::Make) {
    objects_.pop_back();
    return;
  }
  if (what == Undo::Drop) {
    if (drops_ && !drops_->empty()) drops_->pop_back();
    return;
  }
  HeapObject& object = objects_[b];
  if (what == Undo::Slots) {
    object.slots.pop_back();
    return;
  }
  if (what == Undo::Attributes) {
    objects_[object.attributes.index].attributes_of = {};
    object.attributes = {};
    return;
  }
  Saved saved = std::move(saved_.back());
  saved_.pop_back();
  switch (what) {
    case Undo::Splice: {
      auto first =
          object.items.begin() + static_cast<std::ptrdiff_t>(saved.position);
      object.items.erase(first, first + saved.count);
      object.items.insert(
          object.items.begin() + static_cast<std::ptrdiff_t>(saved.position),
          saved.items.begin(), saved.items.end());
      return;
    }
    case Undo::Items:
      object.items.erase(
          object.items.begin(),
          object.items.begin() + static_cast<std::ptrdiff_t>(saved.count));
      object.is_unread = true;
      return;
    case Undo::EntryNote:
    case Undo::EntryAdd:
      set_index(*object.dict, object.dict->entries.back().token, saved.count);
      object.dict->version -= object.dict->entries.back().is_new;
      object.dict->entries.pop_back();
      if (saved.flag) --object.dict->live;
      return;
    case Undo::EntryValue: {
      DictEntry& entry = object.dict->entries[saved.position];
      if (!entry.value) {
        ++object.dict->live;
        --object.dict->version;
      }
      entry.value = saved.value;
      entry.written = saved.flag;
      entry.has_left = false;
      return;
    }
    case Undo::Dict:
    case Undo::Complete:
      object.dict = std::move(saved.dict);
      return;
    case Undo::Merge:
      object.dict->merges.pop_back();
      --object.dict->version;
      return;
    case Undo::Slot:
      object.slots[saved.position] = saved.value;
      return;
    case Undo::Number:
      object.number = saved.count;
      return;
    case Undo::Node:
      object.node = {graph::GraphId(static_cast<size_t>(saved.count)),
                     graph::NodeId(saved.position)};
      return;
    case Undo::Mark:
      object.changes = static_cast<uint8_t>(saved.count);
      if (object.changes == 0) modified_.pop_back();
      return;
    case Undo::Drop:
    case Undo::Make:
    case Undo::Slots:
    case Undo::Attributes:
      return;  // above
  }
}

}  // namespace magneto::values
