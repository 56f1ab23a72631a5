// SPDX-License-Identifier: BSD-3-Clause
// Which sources hold one object, and which hold different ones.
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

// Tensors, and which of them are views of which.
struct ViewNodes {
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> bases;  // see base_number()
};

class Relations {
 public:
  void add_same(SamePair pair) { same_.push_back(pair); }
  void add_distinct(std::vector<uint32_t> nodes) {
    distinct_.push_back({.early = std::move(nodes)});
  }
  void add_views(ViewNodes views) { views_.push_back(std::move(views)); }
  // Nodes below `volatile_nodes` are new at each call; call after everything
  // was added.
  void seal(uint32_t volatile_nodes);

  // `epoch` differs from an earlier call's if any pinned slot does.
  bool hold(PyObject* const* slots, uint64_t epoch) noexcept;

  std::span<const SamePair> same() const { return same_; }
  std::span<const DistinctNodes> distinct() const { return distinct_; }
  std::span<const ViewNodes> views() const { return views_; }
  // The base_number() of one of them.
  static uint32_t base_now(const ViewNodes& views, size_t member,
                           PyObject* const* slots) noexcept;
  // The number of the first of them that has another base; all, if none has.
  static size_t first_with_other_base(const ViewNodes& views,
                                      PyObject* const* slots) noexcept;

 private:
  static bool all_distinct(DistinctNodes& nodes, PyObject* const* slots,
                           uint64_t epoch) noexcept;

  std::vector<SamePair> same_;
  std::vector<DistinctNodes> distinct_;
  std::vector<ViewNodes> views_;
};

}  // namespace magneto::guards
