// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/deques.h"

#include <algorithm>

#include "python/deque_layout.h"
#include "values/types/construction.h"
#include "values/types/lists.h"
#include "values/types/type_table.h"

namespace magneto::values {

bool is_outdated(const Context& ctx, V deque_iterator) {
  const auto& slots = ctx.heap[deque_iterator->heap].slots;
  return ctx.heap[slots[0]->heap].number != PyLong_AsLongLong(slots[1]->object);
}

namespace {

V wrap(Context& ctx, PyObject* object, SourceId source) {
  V made = wrap_list(ctx, object, source);
  const Py_ssize_t limit = python::deque_limit(object);
  ctx.guards.deque_limit(source, limit);
  ctx.heap.initial(made->heap).slots = {limit < 0 ? ctx.none()
                                                  : ctx.integer(limit)};
  return made;
}

// Those of the input that what the trace has appended leaves there.
std::vector<V> items(Context& ctx, V deque) {
  const auto count = static_cast<size_t>(Py_SIZE(deque->object));
  ctx.guards.length(deque->source, static_cast<Py_ssize_t>(count));
  const Py_ssize_t limit = python::deque_limit(deque->object);
  const size_t all = count + ctx.heap[deque->heap].items.size();
  const size_t excess = limit < 0 || all <= static_cast<size_t>(limit)
                            ? 0
                            : std::min(count, all - static_cast<size_t>(limit));
  std::vector<V> left;
  for (size_t i = 0; i < count; ++i) {
    V item =
        ctx.lazy(python::deque_item(deque->object, static_cast<Py_ssize_t>(i)),
                 ctx.sources.deque_item(deque->source, i));
    if (i < excess)
      ctx.check_drop(item);
    else
      left.push_back(item);
  }
  return left;
}

std::optional<Construction> construct(Context& ctx, V deque) {
  const auto& slots = ctx.heap[deque->heap].slots;
  if (slots.empty()) return std::nullopt;
  V limit = slots[0];
  return instance_of(ctx, deque, base_named(deque, "collections.deque"),
                     {ctx.tuple({}), limit});
}

std::optional<Construction> construct_iterator(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  // At its end, which it doesn't leave.
  if (state.number < 0)
    return Construction{
        class_value(ctx, iterator),
        {ctx.list({}, base_named(state.slots[0], "collections.deque"))}};
  V passed = ctx.integer(state.number);
  if (is_outdated(ctx, iterator))
    return by_helper(ctx, "outdated_deque_iterator",
                     {class_value(ctx, iterator), state.slots[2], passed});
  return Construction{class_value(ctx, iterator), {state.slots[0], passed}};
}

// How many of the deque's items are old ones that the input still has after
// dropping others at its left end; 0 where they aren't in one piece at the
// start.
struct OldItems {
  size_t dropped = 0;
  size_t kept = 0;
};
template <class IsOld>
OldItems old_items(const std::vector<V>& items, size_t old_size, IsOld is_old) {
  if (items.empty()) return {};
  OldItems found;
  while (found.dropped < old_size && !is_old(items[0], found.dropped))
    ++found.dropped;
  found.kept = old_size - found.dropped;
  if (found.kept > items.size()) return {};
  for (size_t i = 0; i < found.kept; ++i)
    if (!is_old(items[i], found.dropped + i)) return {};
  return found;
}

void replay(Context& ctx, V deque, StepWriter& writer) {
  const HeapObject& state = ctx.heap[deque->heap];
  const std::vector<V> items = state.items;
  const auto is_old = [&](V item, size_t at) {
    return item->kind == Kind::Lazy &&
           item->source == ctx.sources.deque_item(deque->source, at);
  };
  // Its length, which iterators look at, is what it was all the time.
  if (state.number == 0) {
    for (size_t i = 0; i < items.size(); ++i)
      if (!is_old(items[i], i))
        writer.act(StepOp::SetDequeItem,
                   {deque, ctx.integer(static_cast<int64_t>(i)), items[i]});
    return;
  }
  OldItems old;
  if (!state.is_unread)
    old = old_items(items, static_cast<size_t>(Py_SIZE(deque->object)), is_old);
  const bool shifts = state.is_unread || (old.kept && old.kept < items.size());
  std::vector<V> operands{deque};
  if (shifts)
    operands.push_back(ctx.integer(static_cast<int64_t>(old.dropped)));
  else
    old.kept = 0;
  operands.insert(operands.end(),
                  items.begin() + static_cast<std::ptrdiff_t>(old.kept),
                  items.end());
  writer.act(shifts ? StepOp::ShiftDeque : StepOp::AssignList, operands);
}

}  // namespace

std::span<const TypeRow> deque_types() {
  static const TypeRow rows[] = {
      {.name = "collections.deque",
       .derived = true,
       .wrap = wrap,
       .items = items,
       .construct = construct,
       .replay = replay},
      {.name = "_collections._deque_iterator", .construct = construct_iterator},
      {.name = "_collections._deque_reverse_iterator",
       .construct = construct_iterator},
  };
  return rows;
}

}  // namespace magneto::values
