// SPDX-License-Identifier: BSD-3-Clause
// What happens when the program drops a caller's object while it is traced. On
// a call the real object lives until the compiled piece ends; one that has a
// finalizer must die where the program drops it, so the graph breaks there.
#include "guards/finalizer.h"
#include "values/protocol/hashing.h"

namespace magneto::values {

namespace {

void check_drop_of(Context& ctx, PyObject* object, SourceId source) {
  if (guards::never_has_finalizer(object)) return;
  if (guards::has_finalizer(object))
    throw BreakException{
        {"finalizer", "what is let go of here is " + ctx.sources.print(source),
         ""}};
  ctx.guards.no_finalizer(source);
}

}  // namespace

void Wrapping::check_drop(V value) {
  if (value->kind != Kind::Tensor && value->kind != Kind::Constant)
    check_drop_of(whole(), value->object, value->source);
}

void Wrapping::guard_no_finalizer(V value) {
  PyObject* object = value->object;
  if (!object || !value->source.valid() || guards::has_finalizer(object))
    return;
  // A value that was looked at has a guard on its type.
  if (guards::never_has_finalizer(object) &&
      looked_at(value)->kind != Kind::Lazy)
    return;
  guards.no_finalizer(value->source);
}

void Wrapping::check_drop_unread(HeapId dict, V key, PyObject* token) {
  const auto [source, reading] = place_of(dict, key, token);
  if (!source.valid()) return;
  // The write may call the program's __eq__ on another key with that hash.
  V owner = heap[dict].owner;
  if (owner->object && has_own_keys(owner->object)) {
    (void)read(dict, key, token);
    return;
  }
  if (reading.is_present()) check_drop_of(whole(), reading.value(), source);
}

}  // namespace magneto::values
