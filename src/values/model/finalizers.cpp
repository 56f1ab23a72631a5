// SPDX-License-Identifier: BSD-3-Clause
// What the program lets go of while it is traced. The real objects live through
// the compiled piece, at whose end everything happens at once; what runs user
// code when it dies must die in its place.
#include "guards/finalizer.h"
#include "values/protocol/hashing.h"

namespace magneto::values {

namespace {

void let_go_object(Context& ctx, PyObject* object, SourceId source) {
  if (guards::never_has_finalizer(object)) return;
  if (guards::has_finalizer(object))
    throw BreakException{
        {"finalizer", "what is let go of here is " + ctx.sources.print(source),
         ""}};
  ctx.guards.no_finalizer(source);
}

}  // namespace

void Wrapping::let_go(V value) {
  if (value->kind != Kind::Tensor && value->kind != Kind::Constant)
    let_go_object(whole(), value->object, value->source);
}

void Wrapping::guard_death(V value) {
  PyObject* object = value->object;
  if (!object || !value->source.valid() || guards::has_finalizer(object))
    return;
  // What was looked at is of a guarded type.
  if (guards::never_has_finalizer(object) &&
      looked_at(value)->kind != Kind::Lazy)
    return;
  guards.no_finalizer(value->source);
}

void Wrapping::let_go_unread(HeapId dict, V key, PyObject* token) {
  const auto [source, reading] = place_of(dict, key, token);
  if (!source.valid()) return;
  // Code of the program's may run when another key of that hash is written.
  V owner = heap[dict].owner;
  if (owner->object && has_own_keys(owner->object)) {
    (void)read(dict, key, token);
    return;
  }
  if (reading.is_present()) let_go_object(whole(), reading.value(), source);
}

}  // namespace magneto::values
