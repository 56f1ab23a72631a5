// SPDX-License-Identifier: BSD-3-Clause
// The heap: everything that a traced program can change, each write leaving an
// undo record in the journal. No tensor or source logic here: what a read of a
// caller's object means is asked of a Backing.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "python/ref.h"
#include "support/check.h"
#include "support/journal.h"
#include "values/model/value.h"

namespace magneto::values {

// Answers for a caller's mapping (a dict, or an object's attributes) that a
// DictState stands for, when a key is first read. Implemented by the Context,
// which guards what it answers.
class Backing {
 public:
  // The value under `token`, or null if there is none.
  virtual V read(HeapId dict, V key, PyObject* token) = 0;
  // All keys in order, guarded as a whole.
  virtual std::vector<V> keys(HeapId dict) = 0;

 protected:
  ~Backing() = default;
};

// What the heap asks of the caller's objects, and of values. Implemented by the
// Context.
class Callers {
 public:
  // The items of a list, guarded as a whole.
  virtual std::vector<V> items(V list) = 0;
  // An object is about to drop the value by a write. Throws BreakException
  // where the drop can't wait until the compiled piece ends.
  virtual void check_drop(V value) = 0;
  // The value in the user's terms; the same for values that a program can't
  // tell apart:
  // "x.size(0)", "[1, 'a']", "a float32[2, 3] tensor".
  virtual std::string describe(V value) const = 0;

 protected:
  ~Callers() = default;
};

struct DictEntry {
  V key = nullptr;
  V value = nullptr;  // null: no such key (deleted, or read and not found)
  Ref token;          // a real object that hashes and compares as the key does
  bool written = false;  // by the trace, as opposed to read from the caller
  bool is_new = false;   // known not to be in the caller's, or no longer
  // For a deleted entry: how many entries there were then, the deletion's
  // number, and whether a set's pop() has deleted it.
  uint32_t entries_before = 0;
  bool is_popped = false;
  uint32_t deletion = 0;
  // For an OrderedDict, whose order is kept apart from that of the dict beneath
  // it: there, a key that move_to_end() moves stays where it was added.
  uint32_t addition = 0;  // its number, counting what was ever added
  bool is_moved = false;  // move_to_end() put it here,
  bool has_left = false;  // or took it from here; then it has no value
};

// A set has added, or dropped, all items of another set or of a dict at once.
// Its table then grows otherwise than by as many single changes, which shows in
// the order of its items.
struct SetMerge {
  Ref other;  // a real set or dict of plain constants, made as that was
  bool drops = false;
  size_t entries = 0;      // how many the set had before,
  uint32_t deletions = 0;  // and which deletion is the next
};

// Ordered mapping from tokens to values.
struct DictState {
  std::vector<DictEntry> entries;  // insertion order once complete
  Ref index;                       // dict: token -> position in entries
  // Complete: entries hold all there is. Otherwise they hold what was read or
  // written so far, and the caller's mapping has the rest.
  bool complete = true;
  size_t live = 0;         // entries that have a value
  uint32_t deletions = 0;  // so far, undone ones too
  uint32_t additions = 0;
  std::vector<SetMerge> merges;  // Set; the entries say the same besides
  bool is_cleared = false;       // what was there before is in no entry
  uint32_t version = 0;  // grows when a key comes or goes, or a set is merged
  // Set: where pop() looks next since it was emptied, if the trace has moved
  // that (python::set_finger).
  std::optional<Py_ssize_t> finger;
};

// What was written to an object; artifact replays it.
enum class Change : uint8_t { Items = 1, Entries = 2, Slots = 4 };

struct HeapObject {
  V owner = nullptr;       // the value that this state belongs to
  std::vector<V> items;    // List: see Heap::items
  bool is_unread = false;  // List: the caller's items come before these
  std::unique_ptr<DictState> dict;  // Dict, Set; an attribute mapping
  HeapId attributes;                // the attribute mapping, itself in the heap
  HeapId attributes_of;             // set on an attribute mapping: whose it is
  std::vector<V> slots;             // Cell, Iterator: by position
  int64_t number = 0;               // Iterator: position
  graph::NodeRef node;              // Tensor: the node that yields it
  uint8_t changes = 0;              // Change bits
  bool is_shared = false;           // see Heap::share_since
};

class Heap : public Journaled {
 public:
  // `callers` may be null where there are no objects of the caller's.
  explicit Heap(Journal& journal, Callers* callers = nullptr)
      : journal_(journal), callers_(callers) {}
  Heap(const Heap&) = delete;
  ~Heap();

  HeapId make();
  // From now on values are appended to `into` when an object that the trace
  // made stops holding them; null: no longer.
  void note_drops(std::vector<V>* into) { drops_ = into; }
  const HeapObject& operator[](HeapId id) const {
    const HeapObject& object = at(id);
    if (object.changes) [[unlikely]]
      note_read(id);
    return object;
  }
  size_t size() const { return objects_.size(); }
  // The same without counting it as a read.
  V owner(HeapId id) const { return at(id).owner; }

  // Construction: state given to an object before anyone could see it. Not
  // journaled; making the object is.
  HeapObject& initial(HeapId id) { return at(id); }
  void make_dict(HeapId id, bool complete);
  void dict_initial(HeapId id, V key, V value, Ref token);

  // -- sequences: every change is a splice
  // All items. Those of a caller's list are read and guarded at the first call;
  // an append doesn't need them.
  const std::vector<V>& items(HeapId id) {
    if (at(id).is_unread) read_items(id);
    return (*this)[id].items;
  }
  void splice(HeapId id, size_t position, size_t removed,
              std::span<const V> inserted);
  void set_item(HeapId id, size_t position, V value);
  void append(HeapId id, V value) { extend(id, {&value, 1}); }
  void extend(HeapId id, std::span<const V> values);

  // -- mappings
  // Position of the entry that holds `token` (live or known absent), or -1.
  Py_ssize_t find(HeapId id, PyObject* token) const;
  void dict_set(HeapId id, V key, V value, PyObject* token);
  // The key must be there.
  void dict_delete(HeapId id, PyObject* token, bool is_popped = false);
  // For an OrderedDict whose keys have all been read.
  void dict_move_to_end(HeapId id, PyObject* token);
  void dict_clear(HeapId id, std::optional<Py_ssize_t> finger = {});
  // For a set: the items of `other` are about to be added to it, or dropped.
  void set_merge(HeapId id, Ref other, bool drops);
  // Notes what a read of the caller's mapping found (value null: nothing).
  void dict_note(HeapId id, V key, V value, PyObject* token);
  // Makes an incomplete mapping complete, given the caller's keys in order and
  // a way to read those not yet read.
  void dict_complete(HeapId id, Backing& backing);

  // -- slots and numbers
  void set_slot(HeapId id, size_t slot, V value);
  void set_number(HeapId id, int64_t number);
  void set_node(HeapId id, graph::NodeRef node);
  void set_attributes(HeapId id, HeapId attributes);

  // Whether it is a caller's object, or the attribute mapping of one.
  bool is_callers(HeapId id) const;

  // Marks the objects made since there were `size` as shared: they stand for
  // objects that calls which aren't traced get, too, as out of a cache. Writing
  // to one, keeping it or asking for its identity shows the difference.
  void share_since(size_t size);
  bool is_shared(HeapId id) const { return id.valid() && at(id).is_shared; }
  void touch(HeapId id);
  bool touched_shared() const { return touched_shared_; }

  // How many writes to caller's objects there were so far, including undone
  // ones; and how many reads of caller's objects that had been written to.
  size_t callers_writes() const { return callers_writes_; }
  size_t reads_of_written() const { return reads_of_written_; }

  // Objects written to, in the order of their first write.
  std::span<const HeapId> modified() const { return modified_; }

  // A textual dump of the whole state, for tests of rollback.
  std::string dump() const;

  // Whether the program made it since there were so many objects.
  bool is_made_since(HeapId id, size_t objects) const;
  // The same for the same object in two traces that went on from one state.
  uint64_t key_of(HeapId id) const;
  std::optional<WrittenPart> written(uint64_t what, uint64_t id) const override;
  std::string part_name(uint64_t id) const override;
  std::string part_content(uint64_t id) const override;

  void undo(uint64_t a, uint64_t b) noexcept override;

 private:
  // A caller's object that the trace knows by its source alone has no state
  // here.
  HeapObject& at(HeapId id) {
    MG_CHECK(id.index < objects_.size(), "an object of the heap");
    return objects_[id.index];
  }
  const HeapObject& at(HeapId id) const {
    return const_cast<Heap*>(this)->at(id);
  }

  // What an undo record takes back.
  enum class Undo : uint8_t {
    Make,        // an object was made
    Splice,      // saved: position, count inserted, the items removed
    Items,       // the caller's items were read; saved: how many
    EntryNote,   // the same of an entry that was read
    EntryAdd,    // an entry was appended; saved: what the index said before
    EntryValue,  // an entry's value changed; saved: the old value and flag
    Dict,        // saved: the whole state before it was cleared
    Complete,    // the same before the caller's keys were read
    Merge,       // a set took in another one
    Slot,        // saved: the old value
    Slots,       // the slots grew by one
    Number,      // saved: the old number
    Node,        // saved: the old node
    Attributes,  // the attribute mapping was set
    Mark,        // saved: the old change bits
    Drop,        // note_drops() was told
  };

  // What an undo record needs beyond two words; the meaning of the fields is
  // the record's.
  struct Saved {
    size_t position = 0;
    int64_t count = 0;
    V value = nullptr;
    bool flag = false;
    std::vector<V> items;
    std::unique_ptr<DictState> dict;
  };
  // The object that an attribute mapping belongs to; else the object itself.
  HeapId owner_of(HeapId id) const;
  void mark(HeapId id, Change change);
  void note_read(HeapId id) const {
    if (is_callers(id)) ++reads_of_written_;
  }
  void drop(HeapId id, V value);
  void read_items(HeapId id);
  void splice_known(HeapId id, size_t position, size_t removed,
                    std::span<const V> inserted);

  Journal& journal_;
  Callers* callers_;
  std::vector<V>* drops_ = nullptr;  // see note_drops()
  // A deque: references stay valid while objects are added.
  std::deque<HeapObject> objects_;
  std::vector<Saved> saved_;  // popped by undo
  std::vector<HeapId> modified_;
  size_t callers_writes_ = 0;
  mutable size_t reads_of_written_ = 0;
  bool touched_shared_ = false;
};

}  // namespace magneto::values
