// SPDX-License-Identifier: BSD-3-Clause
// What relates several slots: integers bound to scratch slots with their
// relations, and which sources hold one object or different ones.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "guards/guard.h"

namespace magneto::guards {

// All nodes are numbers of slots.
struct IntBinding {
  IntKind kind;
  uint32_t node;
  int64_t dim;
};

struct SamePair {
  uint32_t a;
  uint32_t b;
};

// Sources of which no two hold one object. Those below pins seldom change, so
// they are kept sorted and looked up.
struct DistinctNodes {
  std::vector<uint32_t> early;
  std::vector<uint32_t> late;
  std::vector<PyObject*> sorted = {};  // of `late`; borrowed, only compared
  uint64_t epoch = 0;                  // of the slots that `sorted` is from
};

class Relations {
 public:
  // Integers keep the numbers that they have in the guard set.
  void add_integer(IntBinding binding);
  void add(const IntGuard& guard) { guards_.push_back(guard); }
  void add_same(SamePair pair) { same_.push_back(pair); }
  void add_distinct(std::vector<uint32_t> nodes) {
    distinct_.push_back({.early = std::move(nodes)});
  }
  // Integers and relations below `volatile_nodes` can be told before pinned
  // slots are known; call after everything was added.
  void seal(uint32_t volatile_nodes);

  // The early part: needs the slots of volatile nodes only.
  bool hold_early(PyObject* const* slots) noexcept;
  // The rest. `epoch` differs from an earlier call's if any pinned slot does.
  bool hold_late(PyObject* const* slots, uint64_t epoch) noexcept;

  int64_t value(IntId id) const { return values_[id.index]; }

  std::span<const IntBinding> integers() const { return integers_; }
  std::span<const IntGuard> guards() const { return guards_; }
  std::span<const SamePair> same() const { return same_; }
  std::span<const DistinctNodes> distinct() const { return distinct_; }

 private:
  bool bind(size_t begin, size_t end, PyObject* const* slots) noexcept;
  bool relations_hold(size_t begin, size_t end) const noexcept;
  static bool all_distinct(DistinctNodes& nodes, PyObject* const* slots,
                           uint64_t epoch) noexcept;

  std::vector<IntBinding> integers_;
  std::vector<uint32_t> order_;  // of binding: early ones first
  size_t early_integers_ = 0;
  std::vector<IntGuard> guards_;  // early ones first, once sealed
  size_t early_guards_ = 0;
  std::vector<SamePair> same_;
  std::vector<DistinctNodes> distinct_;
  std::vector<int64_t> values_;
};

// False if there is no such integer (the value is no int, or too large).
bool read_integer(IntKind kind, PyObject* value, int64_t dim,
                  int64_t* result) noexcept;
bool holds(Relation relation, int64_t left, int64_t right) noexcept;

}  // namespace magneto::guards
