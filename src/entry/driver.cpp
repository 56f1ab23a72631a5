// SPDX-License-Identifier: BSD-3-Clause
#include "entry/driver.h"

#include <alloca.h>

#include <exception>

#include "entry/compiler.h"
#include "entry/foreign.h"
#include "entry/report.h"
#include "entry/values.h"
#include "python/code_object.h"
#include "python/pending_error.h"
#include "support/check.h"

namespace magneto::entry {

namespace {

thread_local Settings* active = nullptr;

// Slots are taken from the C stack up to this many.
constexpr size_t kStackSlots = 512;

// How one piece of a frame ended.
enum class Piece : uint8_t {
  Missed,       // no guard program holds
  Plain,        // the rest runs in plain Python
  Returned,     // with the frame's result
  Broke,        // the island comes next
  GraphFailed,  // a Python error is set, and nothing was done
  Failed,       // a Python error is set
};

// What an entry that broke leaves behind, or one whose graph failed.
struct Broken {
  EntryHold entry;
  FrameValues results;  // as the entry's shape says
};

// Runs entry `index`, whose guards hold. Nothing here can throw.
Piece run_entry(CodeCache& cache, size_t index, PyObject** slots,
                PyObject** result, Broken* broken) {
  // The list may change, and the entry be dropped, by what is run.
  EntryHold entry = cache.entries()[index];
  if (index != 0) cache.move_to_front(index);
  if (!entry->program) return Piece::Plain;
  const codegen::DirectProgram& program = *entry->program;
  PyObject** target = result;
  if (entry->rest) {
    broken->results = FrameValues(program.result_count());
    target = broken->results.span().data();
  }
  python::FrameHookScope pause(false);
  ForeignPause foreign;
  const codegen::RunEnd end = program.run(slots, target);
  if (end == codegen::RunEnd::Failed) return Piece::Failed;
  const bool failed = end == codegen::RunEnd::GraphFailed;
  if (!failed && !entry->rest) return Piece::Returned;
  broken->entry = std::move(entry);
  return failed ? Piece::GraphFailed : Piece::Broke;
}

// Checks one entry and runs it if it is the right one.
Piece try_entry(CodeCache& cache, size_t index, const guards::CallView& view,
                PyObject** result, Broken* broken) {
  Entry& entry = *cache.entries()[index];
  // One in front of the inputs, for the callee (PEP 590).
  const size_t count = entry.program ? entry.program->slot_count() + 1 : 1;
  std::unique_ptr<PyObject*[]> heap;
  PyObject** slots;
  if (count <= kStackSlots) {
    slots = static_cast<PyObject**>(alloca(count * sizeof(PyObject*)));
  } else {
    heap = std::make_unique<PyObject*[]>(count);
    slots = heap.get();
  }
  if (!entry.guards->run(view, slots + 1)) return Piece::Missed;
  return run_entry(cache, index, slots + 1, result, broken);
}

Piece run_cached(CodeCache& cache, const python::FrameRequest& request,
                 PyObject** result, Broken* broken) {
  const guards::CallView view = view_of(request);
  for (size_t i = 0; i < cache.entries().size(); ++i) {
    const Piece piece = try_entry(cache, i, view, result, broken);
    if (piece != Piece::Missed) return piece;
  }
  return Piece::Missed;
}

Piece run_piece(CodeCache& cache, const python::FrameRequest& request,
                PyObject** result, Broken* broken) {
  if (cache.is_plain || python::thread_is_traced()) return Piece::Plain;
  const Piece piece = run_cached(cache, request, result, broken);
  if (piece != Piece::Missed) return piece;
  if (is_compiling()) return Piece::Plain;
  switch (compile_frame(cache, request)) {
    case Compiled::Plain:
      return Piece::Plain;
    case Compiled::Error:
      return Piece::Failed;
    case Compiled::Entry:
      break;
  }
  // What the backend ran may have changed what the guards look at, or reset().
  const Piece again = run_cached(cache, request, result, broken);
  return again == Piece::Missed ? Piece::Plain : again;
}

// The frame as it goes on behind an island.
struct Rest {
  CodeCache* cache;
  int32_t start;
  FrameValues values;
};

// How the rest of a frame runs in plain Python.
enum class Plainly : uint8_t {
  Continue,
  Raise,  // from the error that is set
  Pause,  // what it calls isn't compiled either
};

PyObject* run_plainly(const python::FrameRequest& frame, int32_t start,
                      FrameValues& values, Plainly how) {
  const bytecode::Code& code = python::decoded(frame.code);
  return python::run_from_middle({.code = frame.code,
                                  .unit = code[start].offset,
                                  .globals = frame.globals,
                                  .cells = frame.cells,
                                  .values = values.span(),
                                  .raises = how == Plainly::Raise,
                                  .pauses = how == Plainly::Pause});
}

// The island of a broken entry raised: the frame goes on with the handler of
// the instruction, or ends if there is none.
PyObject* run_handler(const python::FrameRequest& frame, Broken& broken) {
  const Continuation& at = *broken.entry->rest;
  python::PendingError error = python::PendingError::take();
  error.drop_frame_of(at.island->code.get());
  const auto slots = static_cast<size_t>(frame.code->co_nlocalsplus);
  const size_t below =
      at.shape.stack_is_null.size() - static_cast<size_t>(at.island->operands);
  FrameValues values(slots + below);
  size_t next = 0;
  for (int32_t slot : at.shape.locals)
    values.put(static_cast<size_t>(slot), broken.results.take(next++));
  for (size_t i = 0; i < below; ++i)
    if (!at.shape.stack_is_null[i])
      values.put(slots + i, broken.results.take(next++));
  std::move(error).restore();
  return run_plainly(frame, at.index, values, Plainly::Raise);
}

// Runs the island of a broken entry. False: it raised, and the frame has gone
// on to its end with *result.
bool run_island(const python::FrameRequest& frame, Broken broken, Rest* rest,
                PyObject** result) {
  const Continuation& at = *broken.entry->rest;
  const codegen::Island& island = *at.island;
  const auto slots = static_cast<size_t>(frame.code->co_nlocalsplus);
  const size_t depth = at.shape.stack_is_null.size();
  const size_t below = depth - static_cast<size_t>(island.operands);

  // The island's frame has the locals too: tools look at them.
  FrameValues inside(slots + static_cast<size_t>(island.operands));
  size_t next = 0;
  for (int32_t slot : at.shape.locals)
    inside.put(static_cast<size_t>(slot), Ref::share(broken.results[next++]));
  const size_t first_stack = next;
  for (size_t i = 0; i < depth; ++i) {
    if (at.shape.stack_is_null[i]) continue;
    if (i >= below) inside.put(slots + i - below, broken.results.take(next));
    ++next;
  }
  Ref returned = Ref::steal(python::run_from_middle({.code = island.code,
                                                     .unit = island.unit,
                                                     .globals = frame.globals,
                                                     .cells = frame.cells,
                                                     .values = inside.span()}));
  if (!returned) {
    *result = run_handler(frame, broken);
    return false;
  }

  const codegen::Branch& branch = codegen::branch_taken(island, returned);
  const Continuation::Way& way =
      island.jump && &branch == &*island.jump ? at.jump : at.through;
  FrameValues values(slots + below + branch.pushes.size());
  for (size_t i = 0; i < at.shape.locals.size(); ++i)
    if (way.keeps[i])
      values.put(static_cast<size_t>(at.shape.locals[i]),
                 broken.results.take(i));
  next = first_stack;
  for (size_t i = 0; i < below; ++i)
    if (!at.shape.stack_is_null[i])
      values.put(slots + i, broken.results.take(next++));
  codegen::take_results(branch, std::move(returned),
                        values.span().subspan(slots + below));
  *rest = {way.cache, branch.next, std::move(values)};
  return true;
}

// A frame as it is behind the prologue of its code, whose instruction *start
// is: cells are made.
FrameValues begin(const python::FrameRequest& frame, int32_t* start) {
  const bytecode::Code& code = python::decoded(frame.code);
  FrameValues values(static_cast<size_t>(frame.code->co_nlocalsplus));
  for (size_t i = 0; i < frame.values.size(); ++i)
    if (frame.values[i]) values.put(i, Ref::share(frame.values[i]));
  for (*start = 0; code[*start].op != bytecode::Op::Resume; ++*start) {
    if (code[*start].op != bytecode::Op::MakeCell) continue;
    const auto slot = static_cast<size_t>(code[*start].arg);
    Ref content = values.take(slot);
    values.put(slot, Ref::steal(PyCell_New(content)));
  }
  return values;
}

bool report_failure(const python::FrameRequest& frame, Entry& entry) {
  if (std::exchange(entry.failure_was_reported, true)) return true;
  Details details;
  return tell_user("graph_failed", details.add_place(frame.code, frame.start));
}

// The graph of this piece raised. What raised in the user's code raises there,
// as the user knows it, if the piece runs in plain Python from its beginning;
// and what would have been caught is caught.
PyObject* run_again(const python::FrameRequest& frame, Entry& entry,
                    FrameValues& values) {
  python::PendingError error = python::PendingError::take();
  if (!entry.is_repeatable || !error.is(PyExc_Exception)) {
    std::move(error).restore();
    return frame.start == 0
               ? nullptr
               : run_plainly(frame, frame.start, values, Plainly::Raise);
  }
  int32_t start = frame.start;
  if (start == 0) values = begin(frame, &start);
  Ref result = Ref::steal(run_plainly(frame, start, values, Plainly::Pause));
  if (!result) return nullptr;
  if (entry.calls_in_blocks)
    return report_failure(frame, entry) ? result.release() : nullptr;
  // Nothing could have caught it: the backend's own.
  std::move(error).restore();
  return nullptr;
}

Ran run_pieces(CodeCache& first, const python::FrameRequest& request,
               PyObject** result) {
  *result = nullptr;
  python::FrameRequest frame = request;
  CodeCache* cache = &first;
  FrameValues values;  // what `frame` refers to, behind the first break
  for (;;) {
    Broken broken;
    switch (run_piece(*cache, frame, result, &broken)) {
      case Piece::Missed:
      case Piece::Plain: {
        if (frame.start == 0) return Ran::Plain;
        ActiveScope active_scope(cache->settings());
        *result = run_plainly(frame, frame.start, values, Plainly::Continue);
        return Ran::Done;
      }
      case Piece::Returned:
        return Ran::Done;
      case Piece::GraphFailed: {
        ActiveScope active_scope(cache->settings());
        *result = run_again(frame, *broken.entry, values);
        return Ran::Done;
      }
      case Piece::Failed: {
        // The state is about that before the piece: there it is raised.
        if (frame.start == 0) return Ran::Done;
        ActiveScope active_scope(cache->settings());
        *result = run_plainly(frame, frame.start, values, Plainly::Raise);
        return Ran::Done;
      }
      case Piece::Broke:
        break;
    }
    values = FrameValues();  // what is dead goes before the island runs
    Rest rest;
    {
      ActiveScope active_scope(cache->settings());
      if (!run_island(frame, std::move(broken), &rest, result))
        return Ran::Done;
      // Where a loop is broken up nobody else looks for Ctrl-C.
      if (PyErr_CheckSignals() != 0) {
        *result = run_plainly(frame, rest.start, rest.values, Plainly::Raise);
        return Ran::Done;
      }
    }
    cache = rest.cache;
    values = std::move(rest.values);
    frame.start = rest.start;
    frame.values = values.span();
  }
}

}  // namespace

Ran run_frame(CodeCache& cache, const python::FrameRequest& request,
              PyObject** result) noexcept {
  try {
    return run_pieces(cache, request, result);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
  }
  *result = nullptr;
  return Ran::Done;
}

Settings* active_settings() noexcept { return active; }

ActiveScope::ActiveScope(Settings* settings) noexcept
    : outer_(std::exchange(active, settings)) {}

ActiveScope::~ActiveScope() { active = outer_; }

}  // namespace magneto::entry
