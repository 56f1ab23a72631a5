// SPDX-License-Identifier: BSD-3-Clause
// Single variables, lists and maps whose changes a rollback takes back.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/journal.h"

namespace magneto {

// A variable that fits a word (a handle, a number, a bool). Unseen: what a
// program can tell of it shows elsewhere.
template <class T>
class JournaledValue final : public UnseenJournaled {
  static_assert(std::is_trivially_copyable_v<T> &&
                sizeof(T) <= sizeof(uint64_t));

 public:
  explicit JournaledValue(Journal& journal, T value = {})
      : journal_(journal), value_(value) {}
  JournaledValue(const JournaledValue&) = delete;
  JournaledValue& operator=(const JournaledValue&) = delete;

  T get() const { return value_; }
  operator T() const { return value_; }
  T operator->() const { return value_; }
  JournaledValue& operator=(T value) {
    if (value == value_) return *this;
    uint64_t word = 0;
    std::memcpy(&word, &value_, sizeof(T));
    journal_.record(this, word);
    value_ = value;
    return *this;
  }
  // Sets it and gives what it was.
  T exchange(T value) {
    const T before = value_;
    *this = value;
    return before;
  }

  void undo(uint64_t before, uint64_t) noexcept override {
    std::memcpy(&value_, &before, sizeof(T));
  }

 private:
  Journal& journal_;
  T value_;
};

// A list that only grows, but for rollback.
template <class T>
class JournaledList final : public UnseenJournaled {
 public:
  explicit JournaledList(Journal& journal) : journal_(journal) {}
  JournaledList(const JournaledList&) = delete;
  JournaledList& operator=(const JournaledList&) = delete;

  void push_back(T item) {
    items_.push_back(std::move(item));
    journal_.record(this);
  }

  std::span<const T> items() const { return items_; }
  operator std::span<const T>() const { return items_; }
  const T& operator[](size_t i) const { return items_[i]; }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  void undo(uint64_t, uint64_t) noexcept override { items_.pop_back(); }

 private:
  Journal& journal_;
  std::vector<T> items_;
};

// A map that forgets no key, but for rollback.
template <class Key, class Value>
class JournaledMap final : public UnseenJournaled {
 public:
  explicit JournaledMap(Journal& journal) : journal_(journal) {}
  JournaledMap(const JournaledMap&) = delete;
  JournaledMap& operator=(const JournaledMap&) = delete;

  // Null if there is no such key.
  const Value* find(const Key& key) const {
    auto found = map_.find(key);
    return found == map_.end() ? nullptr : &found->second;
  }
  bool contains(const Key& key) const { return map_.contains(key); }
  // A key that is there keeps its value.
  void add(const Key& key, Value value) {
    if (!map_.emplace(key, std::move(value)).second) return;
    keys_.push_back(key);
    journal_.record(this, kAdded);
  }
  // The key gets this value, whatever it had.
  void set(const Key& key, Value value) {
    auto [at, is_new] = map_.try_emplace(key, value);
    if (!is_new) before_.push_back(std::exchange(at->second, std::move(value)));
    keys_.push_back(key);
    journal_.record(this, is_new ? kAdded : kReplaced);
  }
  size_t size() const { return map_.size(); }

  void undo(uint64_t what, uint64_t) noexcept override {
    auto at = map_.find(keys_.back());
    keys_.pop_back();
    if (what == kAdded) {
      map_.erase(at);
      return;
    }
    at->second = std::move(before_.back());
    before_.pop_back();
  }

 private:
  enum What : uint64_t { kAdded, kReplaced };

  Journal& journal_;
  std::unordered_map<Key, Value> map_;
  std::vector<Key> keys_;      // of the records, oldest first
  std::vector<Value> before_;  // what was replaced
};

}  // namespace magneto
