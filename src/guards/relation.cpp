// SPDX-License-Identifier: BSD-3-Clause
#include "guards/relation.h"

#include <algorithm>

#include "guards/views.h"

namespace magneto::guards {

void Relations::seal(uint32_t volatile_nodes) {
  for (DistinctNodes& nodes : distinct_) {
    const auto first_late = std::stable_partition(
        nodes.early.begin(), nodes.early.end(),
        [=](uint32_t node) { return node < volatile_nodes; });
    nodes.late.assign(first_late, nodes.early.end());
    nodes.early.erase(first_late, nodes.early.end());
    nodes.sorted.resize(nodes.late.size());
  }
}

bool Relations::all_distinct(DistinctNodes& nodes, PyObject* const* slots,
                             uint64_t epoch) noexcept {
  auto& sorted = nodes.sorted;
  if (nodes.epoch != epoch) {
    std::transform(nodes.late.begin(), nodes.late.end(), sorted.begin(),
                   [slots](uint32_t node) { return slots[node]; });
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return false;
    }
    nodes.epoch = epoch;
  }
  // The call's own arguments are few.
  for (size_t i = 0; i < nodes.early.size(); ++i) {
    PyObject* object = slots[nodes.early[i]];
    if (std::binary_search(sorted.begin(), sorted.end(), object)) return false;
    for (size_t j = 0; j < i; ++j) {
      if (slots[nodes.early[j]] == object) return false;
    }
  }
  return true;
}

uint32_t Relations::base_now(const ViewNodes& views, size_t member,
                             PyObject* const* slots) noexcept {
  return base_number(
      views.nodes.size(), [&](size_t at) { return slots[views.nodes[at]]; },
      member);
}

size_t Relations::first_with_other_base(const ViewNodes& views,
                                        PyObject* const* slots) noexcept {
  size_t i = 0;
  while (i < views.nodes.size() &&
         base_now(views, i, slots) == views.bases[i]) {
    ++i;
  }
  return i;
}

bool Relations::hold(PyObject* const* slots, uint64_t epoch) noexcept {
  for (const SamePair& pair : same_) {
    if (slots[pair.a] != slots[pair.b]) return false;
  }
  for (DistinctNodes& nodes : distinct_) {
    if (!all_distinct(nodes, slots, epoch)) return false;
  }
  for (const ViewNodes& views : views_) {
    if (first_with_other_base(views, slots) != views.nodes.size()) return false;
  }
  return true;
}

}  // namespace magneto::guards
