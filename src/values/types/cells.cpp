// SPDX-License-Identifier: BSD-3-Clause
// Cells of closures.
#include "values/model/callers_objects.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

V wrap(Context& ctx, PyObject* object, SourceId source) {
  V made = callers_object(ctx, Kind::Cell, object, source);
  const SourceId contents = ctx.sources.cell_contents(source);
  PyObject* content = PyCell_GET(object);
  if (content == nullptr)
    ctx.guards.absent(contents);
  else
    ctx.guards.present(contents);
  ctx.heap.initial(made->heap).slots = {content ? ctx.lazy(content, contents)
                                                : ctx.null()};
  return made;
}

// Null if it is empty.
V content_of(Context& ctx, V cell) {
  V content = ctx.heap[cell->heap].slots[0];
  return content && !content->is_null() ? content : nullptr;
}

void fill(Context& ctx, V cell, StepWriter& writer) {
  if (V content = content_of(ctx, cell))
    writer.act(StepOp::SetCell, {cell, content});
}

void replay(Context& ctx, V cell, StepWriter& writer) {
  if (V content = content_of(ctx, cell))
    writer.act(StepOp::SetCell, {cell, content});
  else
    writer.act(StepOp::ClearCell, {cell});
}

}  // namespace

std::span<const TypeRow> cell_types() {
  static const TypeRow rows[] = {
      {.type = &PyCell_Type, .wrap = wrap, .fill = fill, .replay = replay},
  };
  return rows;
}

}  // namespace magneto::values
