// SPDX-License-Identifier: BSD-3-Clause
// The heap under random writes: a rollback gives back exactly what was there.
#include "values/model/heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace magneto::values {
namespace {

// Of lists that two items are in which were not read yet.
class TwoItems final : public Callers {
 public:
  std::vector<V> items(V) override { return {&items_[0], &items_[1]}; }
  void check_drop(V) override {}
  std::string describe(V) const override { return "a value"; }

 private:
  Value items_[2];
};

class RandomHeap {
 public:
  explicit RandomHeap(uint32_t seed) : random_(seed), heap(journal, &callers_) {
    for (int i = 0; i < 8; ++i) values_.push_back(std::make_unique<Value>());
    for (int i = 0; i < 6; ++i)
      tokens_.push_back(Ref::steal(PyLong_FromLong(1000 + i)));
  }

  void step() {
    switch (pick(13)) {
      case 0: {
        HeapId id = heap.make();
        heap.initial(id).owner = any();
        heap.initial(id).slots = {any()};
        heap.initial(id).is_unread = pick(2);
        if (pick(2)) heap.make_dict(id, pick(2));
        break;
      }
      case 1:
        with_object([&](HeapId id) { heap.append(id, any()); });
        break;
      case 2:
        with_object([&](HeapId id) {
          size_t size = heap.items(id).size();
          size_t at = pick(size + 1);
          size_t removed = pick(size - at + 1);
          std::vector<V> more(pick(3), any());
          heap.splice(id, at, removed, more);
        });
        break;
      case 3:
        with_object([&](HeapId id) { heap.set_slot(id, pick(3), any()); });
        break;
      case 4:
        with_object([&](HeapId id) {
          heap.set_number(id, static_cast<int64_t>(pick(100)));
        });
        break;
      case 5:
        with_object([&](HeapId id) {
          heap.set_node(id,
                        {graph::GraphId{pick(3)}, graph::NodeId{pick(100)}});
        });
        break;
      case 6:
      case 7:
      case 8:
        with_dict([&](HeapId id) { heap.dict_set(id, any(), any(), token()); });
        break;
      case 9:
        with_dict([&](HeapId id) {
          PyObject* key = token();
          Py_ssize_t at = heap.find(id, key);
          if (at >= 0 && heap[id].dict->entries[static_cast<size_t>(at)].value)
            heap.dict_delete(id, key);
        });
        break;
      case 10:
        with_dict([&](HeapId id) {
          PyObject* key = token();
          if (heap.find(id, key) < 0)
            heap.dict_note(id, any(), pick(2) ? any() : nullptr, key);
        });
        break;
      case 11:
        with_dict([&](HeapId id) {
          const DictState& dict = *heap[id].dict;
          if (!dict.complete || !dict.live) return;
          const auto there = std::ranges::find_if(
              dict.entries, [](const auto& entry) { return entry.value; });
          heap.dict_move_to_end(id, there->token);
        });
        break;
      default:
        if (pick(4) == 0) with_dict([&](HeapId id) { heap.dict_clear(id); });
        break;
    }
  }

  size_t pick(size_t below) {
    return std::uniform_int_distribution<size_t>(0, below - 1)(random_);
  }

  std::mt19937 random_;
  Journal journal;
  Heap heap;

 private:
  TwoItems callers_;

  V any() { return values_[pick(values_.size())].get(); }
  PyObject* token() { return tokens_[pick(tokens_.size())].get(); }
  template <class F>
  void with_object(F write) {
    if (heap.size()) write(HeapId{pick(heap.size())});
  }
  template <class F>
  void with_dict(F write) {
    with_object([&](HeapId id) {
      if (heap[id].dict) write(id);
    });
  }

  std::vector<std::unique_ptr<Value>> values_;
  std::vector<Ref> tokens_;
};

TEST(HeapTest, RollbackAfterRandomWritesGivesTheStateOfTheCheckpoint) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    RandomHeap random(seed);
    for (int i = 0; i < 60; ++i) random.step();
    std::string before = random.heap.dump();
    Journal::Position checkpoint = random.journal.position();
    for (int i = 0; i < 80; ++i) random.step();
    random.journal.rollback(checkpoint);
    ASSERT_EQ(random.heap.dump(), before) << "seed " << seed;
  }
}

TEST(HeapTest, NestedCheckpointsRollBackInTurn) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    RandomHeap random(seed);
    std::vector<std::pair<Journal::Position, std::string>> checkpoints;
    for (int depth = 0; depth < 8; ++depth) {
      for (int i = 0; i < 20; ++i) random.step();
      checkpoints.emplace_back(random.journal.position(), random.heap.dump());
    }
    while (!checkpoints.empty()) {
      random.journal.rollback(checkpoints.back().first);
      ASSERT_EQ(random.heap.dump(), checkpoints.back().second);
      checkpoints.pop_back();
    }
    random.journal.rollback(0);
    EXPECT_EQ(random.heap.size(), 0u);
  }
}

class FixedBacking final : public Backing {
 public:
  FixedBacking(Heap& heap, std::vector<std::pair<V, V>> content)
      : heap_(heap), content_(std::move(content)) {}
  V read(HeapId dict, V key, PyObject* token) override {
    V found = nullptr;
    for (auto& [name, value] : content_)
      if (name->object == token) found = value;
    heap_.dict_note(dict, key, found, token);
    return found;
  }
  std::vector<V> keys(HeapId) override {
    std::vector<V> all;
    for (auto& [name, value] : content_) all.push_back(name);
    return all;
  }

 private:
  Heap& heap_;
  std::vector<std::pair<V, V>> content_;
};

TEST(HeapTest, CompletingAMappingKeepsPythonsOrder) {
  Journal journal;
  Heap heap(journal);
  std::vector<Ref> tokens;
  std::vector<Value> keys(5), values(6);
  for (size_t i = 0; i < keys.size(); ++i) {
    tokens.push_back(Ref::steal(PyLong_FromLong(2000 + static_cast<long>(i))));
    keys[i] = {.kind = Kind::Constant, .object = tokens[i].get()};
  }
  FixedBacking backing(
      heap,
      {{&keys[0], &values[0]}, {&keys[1], &values[1]}, {&keys[2], &values[2]}});
  HeapId id = heap.make();
  heap.make_dict(id, false);
  auto set = [&](size_t k, size_t v) {
    heap.dict_set(id, &keys[k], &values[v], tokens[k]);
  };
  set(3, 3);                                    // new
  (void)backing.read(id, &keys[0], tokens[0]);  // read, then deleted ...
  heap.dict_delete(id, tokens[0]);
  set(0, 4);                                    // ... and set again: last
  set(2, 5);                                    // overwritten in place
  (void)backing.read(id, &keys[4], tokens[4]);  // known to be absent
  std::string before = heap.dump();
  Journal::Position checkpoint = journal.position();

  heap.dict_complete(id, backing);
  std::vector<std::pair<V, V>> order;
  for (const DictEntry& entry : heap[id].dict->entries)
    if (entry.value) order.emplace_back(entry.key, entry.value);
  std::vector<std::pair<V, V>> expected{{&keys[1], &values[1]},
                                        {&keys[2], &values[5]},
                                        {&keys[3], &values[3]},
                                        {&keys[0], &values[4]}};
  EXPECT_EQ(order, expected);
  EXPECT_EQ(heap[id].dict->live, 4u);
  EXPECT_EQ(heap.find(id, tokens[4]), -1);

  journal.rollback(checkpoint);
  EXPECT_EQ(heap.dump(), before);
}

TEST(HeapTest, AppendingToAListReadsNoItems) {
  Journal journal;
  TwoItems callers;
  Heap heap(journal, &callers);
  Value value;
  HeapId id = heap.make();
  heap.initial(id).is_unread = true;
  heap.append(id, &value);
  EXPECT_EQ(heap[id].items, std::vector<V>{&value});
  Journal::Position checkpoint = journal.position();
  EXPECT_EQ(heap.items(id).size(), 3u);
  EXPECT_EQ(heap.items(id).back(), &value);
  heap.splice(id, 0, 1, {});
  journal.rollback(checkpoint);
  EXPECT_TRUE(heap[id].is_unread);
  EXPECT_EQ(heap[id].items, std::vector<V>{&value});
}

TEST(HeapTest, ModifiedListsObjectsInTheOrderOfTheirFirstWrite) {
  Journal journal;
  Heap heap(journal);
  Value value;
  HeapId a = heap.make(), b = heap.make();
  heap.append(b, &value);
  heap.append(a, &value);
  heap.append(b, &value);
  EXPECT_EQ(std::vector<HeapId>(heap.modified().begin(), heap.modified().end()),
            (std::vector<HeapId>{b, a}));
}

}  // namespace
}  // namespace magneto::values
