// SPDX-License-Identifier: BSD-3-Clause
// What the heap says of itself: which object a record of the journal is about,
// how that reads to the user, and all of it as text.
#include <cstdio>

#include "values/model/heap.h"

namespace magneto::values {

namespace {

// Keys of the caller's objects lie above those of the trace's.
constexpr uint64_t kFirstCallersKey = uint64_t{1} << 32;
constexpr size_t kMostItems = 20;

}  // namespace

// -- what was written ---------------------------------------------------------

bool Heap::is_made_since(HeapId id, size_t objects) const {
  const HeapId owner = owner_of(id);
  return owner.index >= objects && !is_callers(owner);
}

uint64_t Heap::key_of(HeapId id) const {
  const HeapId owner = owner_of(id);
  return is_callers(owner) ? kFirstCallersKey + at(owner).owner->source.index
                           : owner.index;
}

HeapId Heap::owner_of(HeapId id) const {
  const HeapObject& object = at(id);
  return object.attributes_of.valid() ? object.attributes_of : id;
}

std::optional<WrittenPart> Heap::written(uint64_t what, uint64_t id) const {
  switch (static_cast<Undo>(what)) {
    case Undo::Splice:
    case Undo::EntryAdd:
    case Undo::EntryValue:
    case Undo::Dict:
    case Undo::Merge:
    case Undo::Slot:
    case Undo::Number: {
      const HeapObject& object = at(HeapId(id));
      // What frames show is no write of the program's.
      if (object.owner && object.owner->type == &PyFrame_Type &&
          !is_callers(HeapId(id)))
        return std::nullopt;
      return WrittenPart{.part = id};
    }
    // What a tensor is computed by shows in the graph; the others are noted
    // beside a write, or are no write at all.
    case Undo::Node:
    case Undo::Make:
    case Undo::Items:
    case Undo::EntryNote:
    case Undo::Complete:
    case Undo::Slots:
    case Undo::Attributes:
    case Undo::Mark:
    case Undo::Drop:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string Heap::part_name(uint64_t id) const {
  const HeapObject& object = at(owner_of(HeapId(id)));
  const std::string type = object.owner->type->tp_name;
  if (!object.owner->source.valid() || !callers_) return "a " + type;
  return type + " " + callers_->describe(object.owner);
}

std::string Heap::part_content(uint64_t id) const {
  if (!callers_) return {};
  const HeapObject& object = at(HeapId(id));
  std::string text;
  const auto add = [&](const std::string& item) {
    text += text.empty() ? item : ", " + item;
  };
  if (object.is_unread) add("...");
  for (size_t i = 0; i < object.items.size(); ++i) {
    if (i == kMostItems) {
      add("...");
      break;
    }
    add(callers_->describe(object.items[i]));
  }
  for (V slot : object.slots) add(slot ? callers_->describe(slot) : "nothing");
  if (!object.slots.empty() && object.number)
    add("at " + std::to_string(object.number));
  if (object.dict) {
    const bool is_of_caller = is_callers(HeapId(id));
    for (const DictEntry& entry : object.dict->entries) {
      if (is_of_caller && !entry.written) continue;
      const std::string key = callers_->describe(entry.key);
      if (entry.value)
        add(key + ": " + callers_->describe(entry.value));
      else if (entry.written && !entry.has_left)
        add("no " + key);
    }
  }
  return "[" + text + "]";
}

// -- all of it ----------------------------------------------------------------

std::string Heap::dump() const {
  std::string text;
  char buffer[64];
  auto add = [&](const void* pointer) {
    std::snprintf(buffer, sizeof buffer, " %p", pointer);
    text += buffer;
  };
  for (size_t i = 0; i < objects_.size(); ++i) {
    const HeapObject& object = objects_[i];
    std::snprintf(buffer, sizeof buffer, "#%zu changes=%d number=%lld node=%u",
                  i, object.changes, static_cast<long long>(object.number),
                  object.node.node.index);
    text += buffer;
    text += object.is_unread ? " more items:" : " items:";
    for (V item : object.items) add(item);
    text += " slots:";
    for (V slot : object.slots) add(slot);
    if (object.dict) {
      std::snprintf(buffer, sizeof buffer, " dict(%s, %zu):",
                    object.dict->complete ? "complete" : "partial",
                    object.dict->live);
      text += buffer;
      for (const DictEntry& entry : object.dict->entries) {
        PyObject* found = PyDict_GetItem(object.dict->index, entry.token);
        const Py_ssize_t position = found ? PyLong_AsSsize_t(found) : -1;
        add(entry.key);
        add(entry.value);
        add(entry.token.get());
        std::snprintf(buffer, sizeof buffer, "@%zd%s%s", position,
                      entry.written ? "w" : "", entry.has_left ? "l" : "");
        text += buffer;
      }
    }
    text += "\n";
  }
  text += "modified:";
  for (HeapId id : modified_) {
    std::snprintf(buffer, sizeof buffer, " %u", id.index);
    text += buffer;
  }
  return text;
}

}  // namespace magneto::values
