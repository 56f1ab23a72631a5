// SPDX-License-Identifier: BSD-3-Clause
// How an object of the caller's that has state of its own becomes a value.
#pragma once

#include "python/class_hierarchy.h"
#include "values/model/context.h"

namespace magneto::values {

// A value of that kind, its type guarded; its state in the heap is still empty.
inline V callers_object(Context& ctx, Kind kind, PyObject* object,
                        SourceId source) {
  python::know_class(Py_TYPE(object));
  ctx.guards.type_is(source, Py_TYPE(object));
  const HeapId id = ctx.heap.make();
  V made = ctx.arena.make<Value>(Value{.kind = kind,
                                       .source = source,
                                       .heap = id,
                                       .type = Py_TYPE(object),
                                       .object = object});
  ctx.heap.initial(id).owner = made;
  return made;
}

}  // namespace magneto::values
