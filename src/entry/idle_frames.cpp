// SPDX-License-Identifier: BSD-3-Clause
#include "entry/idle_frames.h"

namespace magneto::entry {
namespace {

using guards::Guard;
using guards::GuardKind;
using guards::SourceId;
using guards::SourceKind;

bool is_item(SourceKind kind) {
  switch (kind) {
    case SourceKind::DictItem:
    case SourceKind::DictKeyAt:
    case SourceKind::DictValueAt:
    case SourceKind::ListItem:
    case SourceKind::DequeItem:
    case SourceKind::TupleItem:
    case SourceKind::CachedResult:
    case SourceKind::IteratorItem:
    case SourceKind::IteratorPairValue:
      return true;
    default:
      return false;
  }
}

// Whether the path leads through no container of the call's.
bool is_plain_path(const guards::SourceTable& sources, SourceId id) {
  bool has_item = false;
  for (;; id = sources[id].base) {
    const guards::Source& step = sources[id];
    if (!step.base.valid())
      return !has_item || (step.kind != SourceKind::Local &&
                           step.kind != SourceKind::ClosureCell);
    has_item = has_item || is_item(step.kind);
  }
}

bool is_flag(PyObject* constant) {
  return constant == Py_None || PyBool_Check(constant);
}

void add(guards::GuardSet& all, const Guard& guard) {
  switch (guard.kind) {
    case GuardKind::NotNone:
      return all.not_none(guard.source);
    case GuardKind::TypeIs:
      return all.type_is(guard.source,
                         reinterpret_cast<PyTypeObject*>(guard.object.get()));
    case GuardKind::ConstantEquals:
      return is_flag(guard.object)
                 ? all.constant_equals(guard.source, guard.object)
                 : all.type_is(guard.source, Py_TYPE(guard.object.get()));
    case GuardKind::Identity:
      return all.identity(guard.source, guard.object);
    case GuardKind::Tensor:
      return all.tensor(guard.source, guard.snapshot);
    default:
      return;
  }
}

}  // namespace

std::unique_ptr<guards::GuardProgram> guards_of_idle_frame(
    const values::Context& ctx) {
  Journal journal;
  guards::GuardSet some(journal);
  for (const Guard& guard : ctx.guards.guards())
    if (is_plain_path(ctx.sources, guard.source)) add(some, guard);
  for (const guards::AmbientGuard& ambient : ctx.guards.ambients())
    some.ambient(ambient.id, ambient.value);
  return guards::compile(ctx.sources, some, {}, {});
}

}  // namespace magneto::entry
