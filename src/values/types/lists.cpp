// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/lists.h"

#include <algorithm>

#include "values/model/callers_objects.h"
#include "values/protocol/operands.h"
#include "values/protocol/sequence_operators.h"
#include "values/types/type_table.h"

namespace magneto::values {

V wrap_list(Context& ctx, PyObject* object, SourceId source) {
  V made = callers_object(ctx, Kind::List, object, source);
  ctx.heap.initial(made->heap).is_unread = true;
  return made;
}

namespace {

std::vector<V> items(Context& ctx, V list) {
  const auto count = static_cast<size_t>(PyList_GET_SIZE(list->object));
  ctx.guards.length(list->source, static_cast<Py_ssize_t>(count));
  std::vector<V> read(count);
  for (size_t i = 0; i < count; ++i)
    read[i] =
        ctx.lazy(PyList_GET_ITEM(list->object, static_cast<Py_ssize_t>(i)),
                 ctx.sources.list_item(list->source, i));
  return read;
}

Outcome<V> stored_length(Context& ctx, V list) {
  return ctx.integer(static_cast<int64_t>(ctx.heap.items(list->heap).size()));
}

// A class that has an operator of its own has not the slot of the base's.
Outcome<V> concatenate(Context& ctx, V left, V right, bool in_place) {
  const PySequenceMethods* methods = left->type->tp_as_sequence;
  const bool extends = in_place && methods->sq_inplace_concat;
  if (!extends && !(methods->sq_concat && is_list(right))) return nullptr;
  return sequence_add(ctx, left, right, extends);
}

Outcome<V> repeat_list(Context& ctx, V sequence, V other, bool in_place) {
  MG_TRY(V count, repetitions(ctx, other));
  if (!count) return nullptr;
  const PySequenceMethods* methods = sequence->type->tp_as_sequence;
  return repeat(ctx, sequence, count, in_place && methods->sq_inplace_repeat);
}

void fill(Context& ctx, V list, StepWriter& writer) {
  const std::vector<V>& items = ctx.heap[list->heap].items;
  if (items.empty()) return;
  std::vector<V> operands{list};
  operands.insert(operands.end(), items.begin(), items.end());
  writer.act(StepOp::AssignList, operands);
}

// list[first:last] = items.
void splice(Context& ctx, V list, int64_t first, int64_t last,
            std::span<const V> items, StepWriter& writer) {
  std::vector<V> operands{list, ctx.integer(first), ctx.integer(last)};
  operands.insert(operands.end(), items.begin(), items.end());
  writer.act(StepOp::SpliceList, operands);
}

// Items that the trace left where they were needn't be read.
void replay(Context& ctx, V list, StepWriter& writer) {
  const HeapObject& state = ctx.heap[list->heap];
  const std::vector<V> items = state.items;
  if (state.is_unread)
    return splice(ctx, list, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, items, writer);
  const auto old_size = static_cast<size_t>(PyList_GET_SIZE(list->object));
  const auto is_old = [&](size_t now, size_t before) {
    return items[now]->kind == Kind::Lazy &&
           items[now]->source == ctx.sources.list_item(list->source, before);
  };
  size_t head = 0, tail = 0;
  const size_t shorter = std::min(items.size(), old_size);
  while (head < shorter && is_old(head, head)) ++head;
  while (head + tail < shorter &&
         is_old(items.size() - 1 - tail, old_size - 1 - tail)) {
    ++tail;
  }
  if (head + tail == items.size() && items.size() == old_size) return;
  splice(ctx, list, static_cast<int64_t>(head),
         static_cast<int64_t>(old_size - tail),
         std::span(items).subspan(head, items.size() - tail - head), writer);
}

}  // namespace

std::span<const TypeRow> list_types() {
  static const TypeRow rows[] = {
      {.type = &PyList_Type,
       .derived = true,
       .wrap = wrap_list,
       .items = items,
       .concatenate = concatenate,
       .repeat = repeat_list,
       .replay = replay},
      {.kind = Kind::List, .length = stored_length, .fill = fill},
  };
  return rows;
}

}  // namespace magneto::values
