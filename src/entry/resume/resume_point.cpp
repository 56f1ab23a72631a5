// SPDX-License-Identifier: BSD-3-Clause
#include "entry/resume/resume_point.h"

#include <algorithm>

#include "python/code_object.h"
#include "python/find.h"
#include "support/check.h"

namespace magneto::entry {

namespace {

bool has(std::span<const int32_t> slots, int32_t slot) {
  return std::ranges::find(slots, slot) != slots.end();
}

// Of one frame that breaks. `caches`: where its pieces are; `kept`, and of
// these `held`: what stays alive though nobody reads it again.
class Ways {
 public:
  Ways(Settings* settings, PyCodeObject* code, CodeRecord& caches,
       std::span<const int32_t> kept, std::span<const int32_t> held)
      : settings_(settings),
        code_(code),
        caches_(caches),
        kept_(kept),
        held_(held) {}

  ResumePoint resume_point(size_t index, const artifact::FrameShape& shape);

 private:
  ResumePoint::Way way(const ResumePoint& from, int32_t next,
                       std::vector<bool> stack_is_null, int32_t clears = -1);
  ResumePoint::Way way(const ResumePoint& from, const artifact::Branch& branch);
  ResumePoint::Way way(const ResumePoint& from,
                       const bytecode::Handler& handler);

  Settings* settings_;
  PyCodeObject* code_;
  CodeRecord& caches_;
  std::span<const int32_t> kept_;
  std::span<const int32_t> held_;
};

ResumePoint Ways::resume_point(size_t index,
                               const artifact::FrameShape& shape) {
  ResumePoint rest;
  rest.index = static_cast<int32_t>(index);
  rest.island = CodeRecord::of(code_).island(code_, rest.index);
  rest.shape = shape;
  if (rest.island->through) rest.through = way(rest, *rest.island->through);
  if (rest.island->jump) rest.jump = way(rest, *rest.island->jump);
  rest.handler = python::decoded(code_).handler_for(rest.index);
  if (rest.handler) rest.raised = way(rest, *rest.handler);
  return rest;
}

ResumePoint::Way Ways::way(const ResumePoint& from, int32_t next,
                           std::vector<bool> stack_is_null, int32_t clears) {
  using Fate = ResumePoint::Fate;
  const bytecode::Liveness& liveness = CodeRecord::of(code_).liveness(code_);
  ResumePoint::Way way;
  Point point{.code = code_, .start = next};
  for (int32_t slot : from.shape.locals) {
    Fate fate = Fate::LetGo;
    if (slot != clears && liveness.is_live(next, slot))
      fate = Fate::Keep;
    else if (slot != clears && has(kept_, slot))
      fate = has(held_, slot) ? Fate::Hold : Fate::Keep;
    way.fates.push_back(fate);
    if (fate == Fate::Keep) point.shape.locals.push_back(slot);
  }
  point.shape.stack_is_null = std::move(stack_is_null);
  point.shape.handlers = from.shape.handlers;
  way.cache = &caches_.cache(settings_, point);
  return way;
}

ResumePoint::Way Ways::way(const ResumePoint& from,
                           const artifact::Branch& branch) {
  const auto& before = from.shape.stack_is_null;
  std::vector<bool> stack(before.begin(), before.end() - from.island->operands);
  for (bool is_value : branch.pushes) stack.push_back(!is_value);
  return way(from, branch.next, std::move(stack), branch.clears);
}

ResumePoint::Way Ways::way(const ResumePoint& from,
                           const bytecode::Handler& handler) {
  const auto& before = from.shape.stack_is_null;
  std::vector<bool> stack(before.begin(), before.begin() + handler.depth);
  if (handler.push_lasti) stack.push_back(false);
  stack.push_back(false);
  return way(from, handler.target, std::move(stack));
}

}  // namespace

ResumePoint resume_point(CodeCache& cache, const values::Capture& capture,
                         PyObject* globals, const LiveVariables& slots,
                         std::span<const artifact::FrameShape> shapes) {
  Settings* const settings = cache.settings();
  std::unique_ptr<ResumePoint> inner;
  for (size_t i = capture.inner.size(); i-- > 0;) {
    const values::BrokenFrame& frame = capture.inner[i];
    Ways ways(settings, frame.code, CodeRecord::of(frame.code),
              slots.kept[i + 1], slots.held[i + 1]);
    auto rest = std::make_unique<ResumePoint>(
        ways.resume_point(frame.index, shapes[i + 1]));
    Ref code = Ref::steal(
        PyWeakref_NewRef(reinterpret_cast<PyObject*>(frame.code), nullptr));
    MG_CHECK(code, "code objects can be referred to weakly");
    rest->function = {std::move(code), nullptr, nullptr};
    if (frame.globals != (i > 0 ? capture.inner[i - 1].globals : globals)) {
      rest->function.globals = Ref::share(frame.globals);
      rest->function.builtins = Ref::share(builtins_of(frame.globals));
    }
    rest->inner = std::move(inner);
    inner = std::move(rest);
  }
  Ways ways(settings, cache.point().code, cache.record(), slots.kept[0],
            slots.held[0]);
  ResumePoint outermost = ways.resume_point(capture.index, shapes[0]);
  outermost.inner = std::move(inner);
  return outermost;
}

}  // namespace magneto::entry
