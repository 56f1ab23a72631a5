// SPDX-License-Identifier: BSD-3-Clause
#include "entry/resume/island_run.h"

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "entry/driver.h"
#include "entry/resume/operand_transfer.h"
#include "entry/resume/owned_callable.h"
#include "python/call_layout.h"
#include "python/code_object.h"
#include "python/pending_error.h"

namespace magneto::entry {

namespace {

size_t below_operands(const ResumePoint& at) {
  return at.shape.stack_is_null.size() -
         static_cast<size_t>(at.island->operands);
}

size_t slots_of(const python::FrameRequest& frame) {
  return static_cast<size_t>(frame.code->co_nlocalsplus);
}

// The frame's values on one of the ways on, without what that pushes. Takes
// them over.
FrameValues values_on(const ResumePoint& at, const ResumePoint::Way& way,
                      size_t slots, size_t below, size_t pushes,
                      FrameValues& results, HeldVariables& held) {
  using Fate = ResumePoint::Fate;
  FrameValues values(slots, below + pushes);
  size_t next = 0;
  for (size_t i = 0; i < at.shape.locals.size(); ++i, ++next) {
    if (way.fates[i] == Fate::LetGo) continue;
    Ref value = results.take(next);
    if (way.fates[i] == Fate::Keep)
      values.put(static_cast<size_t>(at.shape.locals[i]), std::move(value));
    else if (value)
      held.hold(at.shape.locals[i], std::move(value));
  }
  for (size_t i = 0; i < below; ++i)
    if (!at.shape.stack_is_null[i]) values.put(slots + i, results.take(next++));
  return values;
}

// The island raised: the frame goes on with the handler of the instruction, or
// ends if there is none. The entry of the island's frame in the traceback
// stands for the frame's own.
bool go_to_handler(const python::FrameRequest& frame, Broken& broken,
                   HeldVariables& held, Rest* rest) {
  const ResumePoint& at = *broken.at;
  if (!at.handler) return false;
  const size_t slots = slots_of(frame);
  const auto depth = static_cast<size_t>(at.handler->depth);
  Ref exception = python::PendingError::take().as_object();
  FrameValues values =
      values_on(at, at.raised, slots, depth, at.handler->push_lasti ? 2 : 1,
                broken.results, held);
  if (at.handler->push_lasti)
    values.put(slots + depth,
               Ref::steal(PyLong_FromLong(
                   python::decoded(frame.code)[at.index].offset)));
  values.put(values.size() - 1, std::move(exception));
  *rest = {at.raised.cache, at.handler->target, std::move(values), true};
  return true;
}

// -- inlined calls ------------------------------------------------------------

// The frame of an inlined call, waiting for its caller's island to call it.
struct InnerFrame {
  Ref code, globals, builtins;
  Broken broken;
  Settings* settings;  // the outermost frame's: it is running
};

// What the island calls in place of the function: the arguments were bound when
// it was traced.
PyObject* call_inner(InnerFrame& inner, PyObject*) noexcept {
  const ResumePoint& at = *inner.broken.at;
  const size_t first = at.shape.first_cell();
  std::vector<Ref> cells;
  std::vector<PyObject*> borrowed;
  for (size_t i = 0; i < at.shape.cells; ++i) {
    cells.push_back(Ref::share(inner.broken.results[first + i]));
    borrowed.push_back(cells.back().get());
  }
  const python::FrameRequest frame{
      .code = reinterpret_cast<PyCodeObject*>(inner.code.get()),
      .globals = inner.globals,
      .builtins = inner.builtins,
      .cells = borrowed};
  try {
    return go_on(frame, std::move(inner.broken), inner.settings);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
    return nullptr;
  }
}

// Takes over what `broken` holds of the frames inside.
Ref make_inner(const python::FrameRequest& caller, Broken& broken, size_t first,
               Settings* settings) {
  auto inner = std::make_unique<InnerFrame>();
  inner->settings = settings;
  inner->broken.entry = broken.entry;
  inner->broken.at = broken.at->inner.get();
  const InnerFunction& function = inner->broken.at->function;
  inner->globals =
      Ref::share(function.globals ? function.globals.get() : caller.globals);
  inner->builtins =
      Ref::share(function.globals ? function.builtins.get() : caller.builtins);
  inner->code = std::move(broken.codes.front());
  inner->broken.codes.assign(std::make_move_iterator(broken.codes.begin() + 1),
                             std::make_move_iterator(broken.codes.end()));
  std::vector<Ref>& shown = broken.inner_shown;
  if (!shown.empty()) {
    inner->broken.shown = std::move(shown.front());
    inner->broken.inner_shown.assign(std::make_move_iterator(shown.begin() + 1),
                                     std::make_move_iterator(shown.end()));
  }
  const size_t variables = inner->broken.at->shape.locals.size();
  inner->broken.results =
      FrameValues(variables, broken.results.size() - first - variables);
  for (size_t i = first; i < broken.results.size(); ++i)
    inner->broken.results.put(i - first, broken.results.take(i));
  return owned_call<InnerFrame, call_inner>(std::move(inner));
}

}  // namespace

PyObject* run_plainly(const python::FrameRequest& frame, int32_t start,
                      FrameValues& values, Ref* shown, Plainly how) {
  return python::run_from_middle(
      {.code = frame.code,
       .unit = python::decoded(frame.code)[start].offset,
       .globals = frame.globals,
       .cells = frame.cells,
       .values = values.span(),
       .raises = how == Plainly::Raise,
       .pauses = how == Plainly::Pause,
       .shown = shown});
}

bool run_island(const python::FrameRequest& frame, Broken broken,
                Settings* settings, Ref* shown, HeldVariables& held,
                Rest* rest) {
  const ResumePoint& at = *broken.at;
  const artifact::Island& island = *at.island;
  const size_t slots = slots_of(frame);
  const size_t depth = at.shape.stack_is_null.size();
  const size_t below = below_operands(at);

  // The island's frame has the locals too: tools look at them.
  FrameValues inside(slots, static_cast<size_t>(island.operands));
  size_t next = 0;
  for (int32_t slot : at.shape.locals)
    inside.put(static_cast<size_t>(slot), Ref::share(broken.results[next++]));
  held.for_each({}, [&](int32_t slot, PyObject* object) {
    const auto at_slot = static_cast<size_t>(slot);
    if (!inside[at_slot]) inside.put(at_slot, Ref::share(object));
  });
  // What a handler of the frame finds on the stack outlives the island,
  // operands too: some instructions leave theirs where they are.
  const size_t kept = at.handler ? static_cast<size_t>(at.handler->depth) : 0;
  for (size_t i = 0; i < depth; ++i) {
    if (at.shape.stack_is_null[i]) continue;
    if (i >= below)
      inside.put(slots + i - below, i < kept ? Ref::share(broken.results[next])
                                             : broken.results.take(next));
    ++next;
  }
  // What has been raised has a traceback, if only None: CPython's instructions
  // that hand one on take it for granted.
  for (PyObject* operand : inside.span().subspan(slots))
    if (operand && PyExceptionInstance_Check(operand) &&
        !reinterpret_cast<PyBaseExceptionObject*>(operand)->traceback)
      PyException_SetTraceback(operand, Py_None);
  if (at.inner) {
    // Its place beside NULL is the function's.
    Ref inner = make_inner(frame, broken,
                           at.shape.first_cell() + at.shape.cells, settings);
    if (!inner) return go_to_handler(frame, broken, held, rest);
    const size_t callable = slots + python::kCallableBesideNull;
    Ref filler = inside.take(callable);
    inside.put(callable, std::move(inner));
  } else if (python::decoded(frame.code)[at.index].op == bytecode::Op::Call &&
             !give_operands(inside, slots)) {
    return go_to_handler(frame, broken, held, rest);
  }
  Ref returned = Ref::steal(python::run_from_middle(
      {.code = island.code,
       .unit = island.unit,
       .globals = frame.globals,
       .cells = frame.cells,
       .values = inside.span(),
       .shown = shown,
       .island_of = frame.code,
       .island_unit = python::decoded(frame.code)[at.index].offset}));
  if (!returned) return go_to_handler(frame, broken, held, rest);

  const artifact::Branch& branch = artifact::branch_taken(island, returned);
  const ResumePoint::Way& way =
      island.jump && &branch == &*island.jump ? at.jump : at.through;
  FrameValues values = values_on(at, way, slots, below, branch.pushes.size(),
                                 broken.results, held);
  artifact::take_results(branch, std::move(returned),
                         values.span().subspan(slots + below));
  *rest = {way.cache, branch.next, std::move(values)};
  return true;
}

}  // namespace magneto::entry
