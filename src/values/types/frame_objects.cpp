// SPDX-License-Identifier: BSD-3-Clause
// Frames that were only traced, and tracebacks, as real objects (exceptions.h
// has their slots).
#include <algorithm>

#include "python/shown_frame.h"
#include "values/types/construction.h"
#include "values/types/exceptions.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

std::optional<Construction> construct_frame(Context& ctx, V frame) {
  const auto& slots = ctx.heap[frame->heap].slots;
  return Construction{ctx.constant_share(python::frame_maker()),
                      {slots.begin(), slots.begin() + kBack}};
}

// The variables of the frame.
void fill_frame(Context& ctx, V frame, StepWriter& writer) {
  writer.show_frames();
  const std::vector<V> slots = ctx.heap[frame->heap].slots;
  const auto locals = std::span(slots).subspan(kFirstLocal);
  V back = slots[kBack];
  if (back == ctx.none() && std::ranges::all_of(locals, &Value::is_null))
    return;
  std::vector<V> arguments{frame, back, nullptr};
  for (V value : locals)
    arguments.push_back(writer.is_easily_built(value) ? value : nullptr);
  writer.call(ctx.constant_share(python::frame_filler()), arguments);
}

}  // namespace

std::span<const TypeRow> frame_types() {
  static const TypeRow rows[] = {
      {.type = &PyFrame_Type, .construct = construct_frame, .fill = fill_frame},
      {.type = &PyTraceBack_Type, .construct = of_class},
  };
  return rows;
}

}  // namespace magneto::values
