// SPDX-License-Identifier: BSD-3-Clause
#include "guards/guard.h"

#include <algorithm>
#include <utility>

#include "guards/constant.h"
#include "guards/views.h"
#include "python/set_items.h"
#include "python/set_table.h"
#include "python/type_version.h"
#include "support/check.h"

namespace magneto::guards {
namespace {

enum List : uint64_t { kGuards, kAmbients, kClassFacts };

constexpr uint32_t bit(GuardKind kind) {
  return uint32_t{1} << static_cast<uint32_t>(kind);
}

// Kinds of which one source may carry several.
constexpr bool relates_sources(GuardKind kind) {
  return kind >= GuardKind::SameObject;
}

}  // namespace

void GuardSet::add(Guard guard) {
  if (relates_sources(guard.kind)) {
    for (const Guard& old : guards_) {
      if (old.kind == guard.kind && old.source == guard.source &&
          old.other == guard.other && old.members == guard.members) {
        return;
      }
    }
  } else {
    MG_CHECK(guard.source.valid(), "a guard needs a source");
    if (kinds_.size() <= guard.source.index) {
      kinds_.resize(guard.source.index + 1);
    }
    uint32_t& kinds = kinds_[guard.source.index];
    if (kinds & bit(guard.kind)) return;
    kinds |= bit(guard.kind);
  }
  guards_.push_back(std::move(guard));
  journal_.record(this, kGuards);
}

void GuardSet::type_is(SourceId source, PyTypeObject* type) {
  add({.kind = GuardKind::TypeIs,
       .source = source,
       .object = Ref::share(reinterpret_cast<PyObject*>(type))});
}

void GuardSet::type_unmodified(SourceId source, PyTypeObject* type) {
  MG_CHECK(python::assign_type_version(type),
           "a type that CPython gives no version tag");
  add({.kind = GuardKind::TypeUnmodified,
       .source = source,
       .number = *python::type_version(type),
       .object = Ref::share(reinterpret_cast<PyObject*>(type))});
}

void GuardSet::identity(SourceId source, PyObject* object) {
  add({.kind = GuardKind::Identity,
       .source = source,
       .object = Ref::share(object)});
}

void GuardSet::not_none(SourceId source) {
  add({.kind = GuardKind::NotNone, .source = source});
}

void GuardSet::constant_equals(SourceId source, PyObject* value) {
  MG_CHECK(is_constant(value), "a value that can be compared without calls");
  add({.kind = GuardKind::ConstantEquals,
       .source = source,
       .object = Ref::share(value)});
}

void GuardSet::absent(SourceId source) {
  add({.kind = GuardKind::Absent, .source = source});
}

void GuardSet::present(SourceId source) {
  add({.kind = GuardKind::Present, .source = source});
}

void GuardSet::length(SourceId source, Py_ssize_t n) {
  add({.kind = GuardKind::Length, .source = source, .number = n});
}

void GuardSet::deque_limit(SourceId source, Py_ssize_t n) {
  add({.kind = GuardKind::DequeLimit, .source = source, .number = n});
}

void GuardSet::no_finalizer_in_deque(SourceId source) {
  add({.kind = GuardKind::NoFinalizerInDeque, .source = source});
}

void GuardSet::iterator_position(SourceId source, int64_t n) {
  add({.kind = GuardKind::IteratorPosition, .source = source, .number = n});
}

void GuardSet::iterator_numbers(SourceId source, PyObject* numbers) {
  add({.kind = GuardKind::IteratorNumbers,
       .source = source,
       .object = Ref::share(numbers)});
}

void GuardSet::iterator_trait(SourceId source, int64_t n) {
  add({.kind = GuardKind::IteratorTrait, .source = source, .number = n});
}

void GuardSet::dict_keys(SourceId source, PyObject* keys) {
  MG_CHECK(PyTuple_CheckExact(keys), "keys are given as a tuple");
  add({.kind = GuardKind::DictKeys,
       .source = source,
       .object = Ref::share(keys)});
}

void GuardSet::instance_keys(SourceId source, PyObject* keys) {
  MG_CHECK(PyTuple_CheckExact(keys), "keys are given as a tuple");
  add({.kind = GuardKind::InstanceKeys,
       .source = source,
       .object = Ref::share(keys)});
}

void GuardSet::set_items(SourceId source, PyObject* items) {
  MG_CHECK(PyFrozenSet_CheckExact(items), "items are given as a frozenset");
  add({.kind = GuardKind::SetItems,
       .source = source,
       .object = Ref::share(items)});
}

void GuardSet::set_table(SourceId source, PyObject* set) {
  // Its own __iter__ may be written in Python.
  Ref items = Ref::steal(PyTuple_New(PySet_GET_SIZE(set)));
  MG_CHECK(items, "out of memory");
  python::SetItems present(set);
  Py_ssize_t count = 0;
  while (PyObject* item = present.next())
    PyTuple_SET_ITEM(items.get(), count++, Ref::share(item).release());
  add({.kind = GuardKind::SetTable,
       .source = source,
       .number = python::set_layout(set),
       .object = std::move(items)});
}

void GuardSet::no_finalizer(SourceId source) {
  add({.kind = GuardKind::NoFinalizer, .source = source});
}

void GuardSet::tensor(SourceId source, std::shared_ptr<const void> snapshot) {
  MG_CHECK(snapshot != nullptr, "a tensor guard needs a snapshot");
  add({.kind = GuardKind::Tensor,
       .source = source,
       .snapshot = std::move(snapshot)});
}

void GuardSet::same_object(SourceId a, SourceId b) {
  if (a == b) return;
  if (b < a) std::swap(a, b);
  add({.kind = GuardKind::SameObject, .source = a, .other = b});
}

void GuardSet::distinct(std::span<const SourceId> sources) {
  std::vector<SourceId> members(sources.begin(), sources.end());
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members.size() < 2) return;
  add({.kind = GuardKind::Distinct, .members = std::move(members)});
}

void GuardSet::views(std::span<const SourceId> sources,
                     std::span<PyObject* const> tensors) {
  std::vector<uint32_t> bases(tensors.size());
  for (uint32_t i = 0; i < bases.size(); ++i)
    bases[i] = base_number(
        bases.size(), [&](size_t at) { return tensors[at]; }, i);
  add({.kind = GuardKind::Views,
       .members = {sources.begin(), sources.end()},
       .bases = std::move(bases)});
}

void GuardSet::ambient(Ambient id) {
  const auto read = hooks().ambient[static_cast<size_t>(id)].read;
  if (read != nullptr) ambient(id, read());
}

void GuardSet::ambient(Ambient id, int64_t value) {
  for (const AmbientGuard& old : ambients_) {
    if (old.id == id) return;
  }
  ambients_.push_back({id, value});
  journal_.record(this, kAmbients);
}

void GuardSet::class_fact(ClassFactPtr fact) {
  ambient(Ambient::AbstractClasses);
  for (const ClassFactPtr& old : class_facts_)
    if (*old == *fact) return;
  class_facts_.push_back(std::move(fact));
  journal_.record(this, kClassFacts);
}

void GuardSet::undo(uint64_t list, uint64_t) noexcept {
  switch (list) {
    case kGuards: {
      const Guard& last = guards_.back();
      if (!relates_sources(last.kind)) {
        kinds_[last.source.index] &= ~bit(last.kind);
      }
      guards_.pop_back();
      break;
    }
    case kAmbients:
      ambients_.pop_back();
      break;
    case kClassFacts:
      class_facts_.pop_back();
      break;
  }
}

}  // namespace magneto::guards
