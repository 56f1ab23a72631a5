// SPDX-License-Identifier: BSD-3-Clause
#include "artifact/plan.h"

#include <algorithm>

#include "artifact/island.h"
#include "artifact/rebuilder.h"
#include "artifact/replay.h"
#include "python/call_layout.h"

namespace magneto::artifact {

using values::Context;
using values::V;

namespace {

bool has_value(V value) { return value && !value->is_null(); }

// A frame that a graph break leaves: the one that was traced, or one of an
// inlined call.
struct LeftFrame {
  PyCodeObject* code;
  size_t index;
  const std::vector<V>& stack;
  const std::vector<V>& locals;
  int32_t handlers;
  V handled;
  bool is_inner;  // of an inlined call
  bool calls;     // the next frame
};

// What the rest of a frame needs.
FrameShape leave(const LeftFrame& frame, std::span<const int32_t> live,
                 Rebuilder& rebuilder, std::vector<Operand>& results) {
  FrameShape shape;
  const int32_t first_free =
      frame.code->co_nlocalsplus - frame.code->co_nfreevars;
  if (!frame.locals.empty()) {
    for (int32_t slot : live) {
      // Free variables are reached through the function's closure.
      if (slot >= first_free) continue;
      V value = frame.locals[static_cast<size_t>(slot)];
      if (!has_value(value)) continue;
      shape.locals.push_back(slot);
      results.push_back(rebuilder.build(value));
    }
  }
  const size_t operands =
      frame.calls ? static_cast<size_t>(operand_count(frame.code, frame.index))
                  : 0;
  const size_t below = frame.stack.size() - operands;
  for (size_t i = 0; i < frame.stack.size(); ++i) {
    V value = frame.stack[i];
    const bool is_null =
        i < below ? !has_value(value) : i == below + python::kNullOfHead;
    shape.stack_is_null.push_back(is_null);
    if (!is_null)
      results.push_back(
          i < below ? rebuilder.build(value)
                    : rebuilder.filler(frame.code, frame.index, i - below));
  }
  shape.handlers = frame.handlers;
  if (shape.handlers) results.push_back(rebuilder.build(frame.handled));
  if (frame.is_inner && !frame.locals.empty()) {
    shape.cells = static_cast<size_t>(frame.code->co_nfreevars);
    for (size_t i = 0; i < shape.cells; ++i)
      results.push_back(
          rebuilder.build(frame.locals[static_cast<size_t>(first_free) + i]));
  }
  return shape;
}

}  // namespace

bool plan(Context& ctx, const values::Capture& capture,
          const python::FrameRequest& frame,
          std::span<const std::vector<int32_t>> live, Plan& out,
          values::BreakInfo* why) {
  Rebuilder rebuilder(ctx, capture, frame, out);
  Replay replay(ctx, rebuilder);
  rebuilder.replay_first([&](values::HeapId id) { replay.container(id); });
  out.builder.call_graph();
  std::vector<Operand> results;
  try {
    const auto uses = ctx.cached_calls.uses();
    const auto late = std::ranges::find_if(uses, [](const auto& use) {
      return use.writes != values::kBeforeWrites;
    });
    std::for_each(uses.begin(), late, [&](const values::CacheUse& use) {
      rebuilder.call_late(StepOp::UseCache, use.call);
    });
    if (capture.ending == values::Ending::Return) {
      results.push_back(rebuilder.build(capture.result));
    } else {
      const size_t inner = capture.inner.size();
      out.shapes.push_back(
          leave({frame.code, capture.index, capture.stack, capture.locals,
                 capture.handlers, capture.handled, false, inner != 0},
                live[0], rebuilder, results));
      for (size_t i = 0; i < inner; ++i) {
        const values::BrokenFrame& left = capture.inner[i];
        out.shapes.push_back(
            leave({left.code, left.index, left.stack, left.locals,
                   left.handlers, left.handled, true, i + 1 < inner},
                  live[i + 1], rebuilder, results));
      }
    }
    for (const values::LateCall& call : ctx.deferred_calls.calls())
      rebuilder.make_arguments(call);
    replay.all();
    rebuilder.fill_all();
    std::for_each(late, uses.end(), [&](const values::CacheUse& use) {
      if (use.writes == values::kBeforeWrites ||
          use.writes == ctx.heap.callers_writes())
        rebuilder.call_late(StepOp::UseCache, use.call);
    });
    for (const values::LateCall& call : ctx.deferred_calls.calls())
      rebuilder.call_late(StepOp::CallForEffect, call);
    rebuilder.expect_no_finalizers();
    for (const values::Construction& reentry : capture.reentries)
      rebuilder.call(reentry);
  } catch (const values::CannotRebuild& cannot) {
    *why = cannot.why;
    return false;
  }
  for (Operand result : results) out.builder.result(result);
  ctx.symbols.keep_sizes_of_inputs(rebuilder.outputs());
  ctx.graph().output(ctx.graph().tuple(rebuilder.outputs()));
  return true;
}

}  // namespace magneto::artifact
