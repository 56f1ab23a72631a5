// SPDX-License-Identifier: BSD-3-Clause
#include "guards/relation.h"

#include <algorithm>

#include "guards/check.h"

namespace magneto::guards {
namespace {

// -1 stands for "no such number" in the tensor room's answers.
bool found(int64_t answer, int64_t* result) {
  *result = answer;
  return answer != -1;
}

}  // namespace

bool read_integer(IntKind kind, PyObject* value, int64_t dim,
                  int64_t* result) noexcept {
  const TensorHooks& tensor = hooks().tensor;
  switch (kind) {
    case IntKind::Value: {
      if (!PyLong_CheckExact(value)) return false;
      int overflow = 0;
      *result = PyLong_AsLongLongAndOverflow(value, &overflow);
      return overflow == 0;
    }
    case IntKind::Length:
      return found(plain_length(value), result);
    case IntKind::Size:
      return tensor.size != nullptr && found(tensor.size(value, dim), result);
    case IntKind::Stride:
      return tensor.stride != nullptr &&
             found(tensor.stride(value, dim), result);
    case IntKind::StorageOffset:
      return tensor.storage_offset != nullptr &&
             found(tensor.storage_offset(value), result);
  }
  return false;
}

bool holds(Relation relation, int64_t left, int64_t right) noexcept {
  switch (relation) {
    case Relation::Equal:
      return left == right;
    case Relation::NotEqual:
      return left != right;
    case Relation::LessEqual:
      return left <= right;
    case Relation::Less:
      return left < right;
    case Relation::GreaterEqual:
      return left >= right;
    case Relation::Greater:
      return left > right;
    case Relation::Multiple:
      return right != 0 && left % right == 0;
  }
  return false;
}

void Relations::add_integer(IntBinding binding) {
  integers_.push_back(binding);
  values_.push_back(0);
}

void Relations::seal(uint32_t volatile_nodes) {
  const auto is_early = [&](uint32_t i) {
    return integers_[i].node < volatile_nodes;
  };
  order_.clear();
  for (uint32_t i = 0; i < integers_.size(); ++i) order_.push_back(i);
  const auto late =
      std::stable_partition(order_.begin(), order_.end(), is_early);
  early_integers_ = static_cast<size_t>(late - order_.begin());
  const auto late_guard = std::stable_partition(
      guards_.begin(), guards_.end(), [&](const IntGuard& guard) {
        return is_early(guard.left.index) &&
               (!guard.right.valid() || is_early(guard.right.index));
      });
  early_guards_ = static_cast<size_t>(late_guard - guards_.begin());
  for (DistinctNodes& nodes : distinct_) {
    const auto first_late = std::stable_partition(
        nodes.early.begin(), nodes.early.end(),
        [=](uint32_t node) { return node < volatile_nodes; });
    nodes.late.assign(first_late, nodes.early.end());
    nodes.early.erase(first_late, nodes.early.end());
    nodes.sorted.resize(nodes.late.size());
  }
}

bool Relations::bind(size_t begin, size_t end,
                     PyObject* const* slots) noexcept {
  for (size_t i = begin; i < end; ++i) {
    const uint32_t number = order_[i];
    const IntBinding& binding = integers_[number];
    if (!read_integer(binding.kind, slots[binding.node], binding.dim,
                      &values_[number])) {
      return false;
    }
  }
  return true;
}

bool Relations::relations_hold(size_t begin, size_t end) const noexcept {
  for (size_t i = begin; i < end; ++i) {
    const IntGuard& guard = guards_[i];
    const int64_t right =
        guard.right.valid() ? values_[guard.right.index] : guard.number;
    if (!holds(guard.relation, values_[guard.left.index], right)) return false;
  }
  return true;
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

bool Relations::hold_early(PyObject* const* slots) noexcept {
  return bind(0, early_integers_, slots) && relations_hold(0, early_guards_);
}

bool Relations::hold_late(PyObject* const* slots, uint64_t epoch) noexcept {
  if (!bind(early_integers_, integers_.size(), slots) ||
      !relations_hold(early_guards_, guards_.size())) {
    return false;
  }
  for (const SamePair& pair : same_) {
    if (slots[pair.a] != slots[pair.b]) return false;
  }
  for (DistinctNodes& nodes : distinct_) {
    if (!all_distinct(nodes, slots, epoch)) return false;
  }
  return true;
}

}  // namespace magneto::guards
