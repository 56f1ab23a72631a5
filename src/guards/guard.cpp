// SPDX-License-Identifier: BSD-3-Clause
#include "guards/guard.h"

#include <algorithm>
#include <utility>

#include "guards/constant.h"
#include "guards/views.h"
#include "python/ownership.h"
#include "python/set_items.h"
#include "python/set_table.h"
#include "python/type_version.h"
#include "support/check.h"

namespace magneto::guards {
namespace {

enum List : uint64_t { kGuards, kRelations, kAmbients, kClassFacts };

// What a guard is compared with is what its kind keeps.
void check_kept(const Guard& guard) {
  switch (row(guard.kind).keeps) {
    case Keeps::Nothing:
      MG_CHECK(!guard.object, "a guard of this kind keeps no object");
      break;
    case Keeps::Object:
    case Keeps::Held:
    case Keeps::Identity:
      MG_CHECK(guard.object, "a guard of this kind needs an object");
      break;
    case Keeps::Constant:
      MG_CHECK(is_constant(guard.object),
               "a value that can be compared without calls");
      break;
    case Keeps::Keys:
      MG_CHECK(PyTuple_CheckExact(guard.object.get()),
               "keys are given as a tuple");
      break;
    case Keeps::Items:
      MG_CHECK(PyFrozenSet_CheckExact(guard.object.get()),
               "items are given as a frozenset");
      break;
    case Keeps::Snapshot:
      MG_CHECK(guard.snapshot != nullptr, "a tensor guard needs a snapshot");
      break;
  }
}

}  // namespace

void GuardSet::add(Guard guard) {
  check_kept(guard);
  MG_CHECK(guard.source.valid(), "a guard needs a source");
  if (kinds_.size() <= guard.source.index) {
    kinds_.resize(guard.source.index + 1);
  }
  KindSet& kinds = kinds_[guard.source.index];
  if (kinds & bit(guard.kind)) return;
  kinds |= bit(guard.kind);
  guards_.push_back(std::move(guard));
  journal_.record(this, kGuards);
}

void GuardSet::add(GuardKind kind, SourceId source, int64_t number) {
  add(Guard{.kind = kind, .source = source, .number = number});
}

void GuardSet::add(GuardKind kind, SourceId source, PyObject* object) {
  add(Guard{.kind = kind, .source = source, .object = Ref::share(object)});
}

void GuardSet::add(GuardKind kind, SourceId source,
                   std::shared_ptr<const void> snapshot) {
  add(Guard{.kind = kind, .source = source, .snapshot = std::move(snapshot)});
}

void GuardSet::code(SourceId source, PyCodeObject* code) {
  auto* object = reinterpret_cast<PyObject*>(code);
  // The code that a def stands for is kept by the code around it, too.
  const bool is_one_functions = python::is_held_only_here(object);
  add(is_one_functions ? GuardKind::SameCode : GuardKind::Identity, source,
      object);
}

void GuardSet::add(Relation relation) {
  for (const Relation& old : relations_)
    if (old.kind == relation.kind && old.members == relation.members) return;
  relations_.push_back(std::move(relation));
  journal_.record(this, kRelations);
}

void GuardSet::type_unmodified(SourceId source, PyTypeObject* type) {
  MG_CHECK(python::assign_type_version(type),
           "a type that CPython gives no version tag");
  add(Guard{.kind = GuardKind::TypeUnmodified,
            .source = source,
            .number = *python::type_version(type),
            .object = Ref::share(reinterpret_cast<PyObject*>(type))});
}

void GuardSet::set_table(SourceId source, PyObject* set) {
  // Its own __iter__ may be written in Python.
  Ref items = Ref::steal(PyTuple_New(PySet_GET_SIZE(set)));
  MG_CHECK(items, "out of memory");
  python::SetItems present(set);
  Py_ssize_t count = 0;
  while (PyObject* item = present.next())
    PyTuple_SET_ITEM(items.get(), count++, Ref::share(item).release());
  add(Guard{.kind = GuardKind::SetTable,
            .source = source,
            .number = python::set_layout(set),
            .object = std::move(items)});
}

void GuardSet::same_object(SourceId a, SourceId b) {
  if (a == b) return;
  if (b < a) std::swap(a, b);
  add(Relation{.kind = RelationKind::SameObject, .members = {a, b}});
}

void GuardSet::distinct(std::span<const SourceId> sources) {
  std::vector<SourceId> members(sources.begin(), sources.end());
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members.size() < 2) return;
  add(Relation{.kind = RelationKind::Distinct, .members = std::move(members)});
}

void GuardSet::views(std::span<const SourceId> sources,
                     std::span<PyObject* const> tensors) {
  std::vector<uint32_t> bases(tensors.size());
  for (uint32_t i = 0; i < bases.size(); ++i)
    bases[i] = base_number(
        bases.size(), [&](size_t at) { return tensors[at]; }, i);
  add(Relation{.kind = RelationKind::Views,
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
      kinds_[last.source.index] &= ~bit(last.kind);
      guards_.pop_back();
      break;
    }
    case kRelations:
      relations_.pop_back();
      break;
    case kAmbients:
      ambients_.pop_back();
      break;
    case kClassFacts:
      class_facts_.pop_back();
      break;
  }
}

}  // namespace magneto::guards
