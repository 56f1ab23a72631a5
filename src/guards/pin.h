// SPDX-License-Identifier: BSD-3-Clause
// Pins: the words of memory that a run's reads went through. While all of them
// are unchanged, the reads would give the same objects, and the checks that
// depend on nothing else still hold. docs/internals/guards.md has the argument
// why words checked in order never lie in freed memory.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "guards/hooks.h"
#include "guards/node.h"
#include "python/ref.h"

namespace magneto::guards {

struct Word {
  const void* address;
  uint64_t expected;

  static uint64_t load(const void* address) noexcept {
    uint64_t value = 0;
    std::memcpy(&value, address, sizeof value);
    return value;
  }
  bool is_unchanged() const noexcept { return load(address) == expected; }
};

// What isn't said by the words alone; they may replace others with equal
// traits.
struct GroupTraits {
  bool is_live = false;        // a check of the node is covered by no words
  bool covers_tensor = false;  // a check of a tensor is
  friend bool operator==(const GroupTraits&, const GroupTraits&) = default;
};

// The words that one node's checks and its children's reads depend on.
class WordGroup {
 public:
  // `value` is the node's; `stable`: a pinned dict or type gave it, so it is
  // the very object that was seen, not another at its address.
  void collect(std::span<const Node> nodes, std::span<const Check> checks,
               uint32_t node, PyObject* value, bool stable);

  std::span<const Word> words() const { return words_; }
  // Children whose reads no words cover: they are read on every run.
  std::span<const uint32_t> live_children() const { return live_; }
  GroupTraits traits() const { return traits_; }
  // What a child of this kind reads is as stable as `stable` above says.
  bool gives_stable(SourceKind kind) const;

 private:
  enum Part : uint32_t;

  bool first(Part part);
  void word(const void* address) {
    words_.push_back({address, Word::load(address)});
  }
  void add_type();
  void add_version(PyObject* dict, Part part);
  void add_order(PyObject* dict, Part part);
  bool add_tag();
  void add_length();
  void add_instance_dict();
  void add_tensor(const void* snapshot);
  void add_check(const Check& check);
  bool add_child(const Source& child);
  bool add_instance_attr(PyObject* name);
  bool add_item(const Source& child);

  PyObject* value_ = nullptr;
  bool stable_ = false;
  GroupTraits traits_;
  uint32_t parts_ = 0;
  std::vector<Word> words_;
  std::vector<uint32_t> live_;
};

}  // namespace magneto::guards
