// SPDX-License-Identifier: BSD-3-Clause
#include "values/protocol/operands.h"
#include "values/protocol/sequence_operators.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

V wrap(Context& ctx, PyObject* object, SourceId source) {
  ctx.guards.type_is(source, Py_TYPE(object));
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(object));
  ctx.guards.length(source, static_cast<Py_ssize_t>(count));
  std::vector<V> items(count);
  for (size_t i = 0; i < count; ++i)
    items[i] = ctx.lazy(PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i)),
                        ctx.sources.tuple_item(source, i));
  TupleValue value{};
  value.kind = Kind::Tuple;
  value.source = source;
  value.type = Py_TYPE(object);
  value.object = object;
  value.items = ctx.arena.copy(std::span<const V>(items));
  return ctx.make_tuple(value);
}

Outcome<V> stored_length(Context& ctx, V tuple) {
  return ctx.integer(static_cast<int64_t>(tuple_items(tuple).size()));
}

// A class that has an operator of its own has not the slot of the base's.
Outcome<V> concatenate(Context& ctx, V left, V right, bool in_place) {
  const PySequenceMethods* methods = left->type->tp_as_sequence;
  if (!methods->sq_concat || !is_tuple_like(right)) return nullptr;
  return sequence_add(ctx, left, right, in_place);
}

Outcome<V> repeat_tuple(Context& ctx, V sequence, V other, bool in_place) {
  MG_TRY(V count, repetitions(ctx, other));
  return count ? repeat(ctx, sequence, count, false) : count;
}

}  // namespace

std::span<const TypeRow> tuple_types() {
  static const TypeRow rows[] = {
      {.type = &PyTuple_Type,
       .derived = true,
       .wrap = wrap,
       .concatenate = concatenate,
       .repeat = repeat_tuple},
      {.kind = Kind::Tuple, .length = stored_length},
  };
  return rows;
}

}  // namespace magneto::values
