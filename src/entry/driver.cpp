// SPDX-License-Identifier: BSD-3-Clause
#include "entry/driver.h"

#include <alloca.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "entry/callable/foreign.h"
#include "entry/callable/stance.h"
#include "entry/compiler.h"
#include "entry/report/report.h"
#include "entry/resume/island_run.h"
#include "entry/view.h"
#include "graph/runner.h"
#include "python/code_object.h"
#include "python/find.h"
#include "python/handled.h"
#include "python/ownership.h"
#include "python/pending_error.h"
#include "python/random_generator.h"
#include "python/shown_frame.h"
#include "support/check.h"
#include "support/stack_room.h"
#include "tensor/ambient.h"
#include "tensor/operator_effects.h"
#include "tensor/saved_tensors.h"
#include "tensor/transforms.h"

namespace magneto::entry {

namespace {

thread_local Settings* active = nullptr;

// Slots are taken from the C stack up to this many.
constexpr size_t kStackSlots = 512;

// How one piece of a frame ended.
enum class Piece : uint8_t {
  Missed,       // no guard program holds
  Plain,        // the rest runs in plain Python
  Left,         // the same, and functions that it calls aren't compiled
  Raises,       // the same with fullgraph=True, since the trace has raised
  Returned,     // with the frame's result
  Broke,        // the island comes next
  GraphFailed,  // a Python error is set, and nothing was done
  Failed,       // a Python error is set
};

// Whether the error may be that of one of the program's hooks that pack
// tensors: activation checkpoints raise one within the graph to end a
// recomputation. Its class is written in Python, unlike those of operators'
// errors. Such a run is over, and isn't repeated.
bool may_be_a_hooks() {
  PyObject* type = PyErr_Occurred();
  return tensor::has_saved_tensor_hooks() && PyType_Check(type) &&
         PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type),
                           Py_TPFLAGS_HEAPTYPE);
}

// What it takes to undo a run whose graph fails. It is gathered before the run
// (FailurePolicy).
class Undo {
 public:
  Undo(const Entry& entry, PyObject* const* inputs) : entry_(entry) {
    const FailurePolicy& policy = entry.failure;
    if (policy.writes()) graph::failed_call() = {};
    if (!policy.may_undo()) return;
    if (policy.keeps_inputs_now()) save(inputs);
    if (policy.draws) random_ = tensor::random_state(policy.uses_accelerator);
    entry.guards->for_each_generator([this](PyObject* generator) {
      const auto is_same = [generator](const python::RandomState& state) {
        return state.generator() == generator;
      };
      if (std::ranges::none_of(generators_, is_same))
        generators_.emplace_back(generator);
    });
  }
  // Whether nothing is left of the run. The Python error stays.
  bool run() {
    if (entry_.failure.writes() &&
        !entry_.failure.has_failed_before_write(graph::failed_call()) &&
        !(saved_ && tensor::put_back(saved_)))
      return false;
    if (random_) tensor::restore(random_);
    restore_generators();
    return true;
  }
  // Whether no other thread uses one of them.
  bool knows_generators() const {
    return std::ranges::all_of(generators_, &python::RandomState::is_known);
  }
  void restore_generators() {
    for (const python::RandomState& state : generators_) state.restore();
  }

 private:
  void save(PyObject* const* inputs) {
    std::vector<PyObject*> written;
    for (size_t i : entry_.written) written.push_back(inputs[i]);
    saved_ = tensor::save(written);
  }

  const Entry& entry_;
  tensor::SavedTensorsPtr saved_;
  tensor::RandomState random_;
  std::vector<python::RandomState> generators_;
};

// A frame between two pieces of it.
struct Running {
  python::FrameRequest frame;
  CodeCache* cache = nullptr;
  Wanted wanted = Wanted::ByUser;
  HeldVariables held = {};
  FrameValues values = {};  // what `frame` refers to, after the first break
};

// A frame has ended in compiled code: the variables that it still has are put
// into its frame object.
void show_unchanged(const Running& at, const Entry& entry, const Ref& shown) {
  if (python::is_held_only_here(shown)) return;
  const python::FrameRequest& frame = at.frame;
  std::vector<PyObject*> values(frame.values.size());
  for (int32_t slot : entry.unchanged)
    values[static_cast<size_t>(slot)] = frame.values[static_cast<size_t>(slot)];
  at.held.for_each(entry.overwritten, [&](int32_t slot, PyObject* object) {
    values[static_cast<size_t>(slot)] = object;
  });
  python::show_end(shown, python::decoded(frame.code)[entry.end].offset, values,
                   frame.cells);
}

// Runs entry `index`, whose guards hold.
Piece run_entry(Running& at, size_t index, PyObject** slots, PyObject** result,
                Broken* broken) {
  CodeCache& cache = *at.cache;
  // What is run may change the list and drop the entry.
  EntryHold entry = cache.entries()[index];
  if (index != 0) cache.move_to_front(index);
  if (!entry->program) {
    if (!entry->raised || !cache.settings()->fullgraph)
      return entry->leaves_calls ? Piece::Left : Piece::Plain;
    broken->entry = std::move(entry);
    return Piece::Raises;
  }
  if (!at.held.empty() && at.held.have_finalizers(entry->overwritten))
    return Piece::Plain;
  cache.raised_in_a_row = 0;
  const artifact::DirectProgram& program = *entry->program;
  PyObject** target = result;
  if (entry->rest) {
    const size_t variables = entry->rest->shape.locals.size();
    broken->results =
        FrameValues(variables, program.result_count() - variables);
    for (const ResumePoint* inner = entry->rest->inner.get(); inner;
         inner = inner->inner.get())
      broken->codes.push_back(
          Ref::share(PyWeakref_GetObject(inner->function.code)));
    target = broken->results.span().data();
  }
  python::FrameHookScope pause(false);
  ForeignPause foreign;
  Undo undo(*entry, slots);
  std::vector<Ref> numbers, held;
  if (entry->guards->draws()) {
    if (entry->guards->calls_to_draw()) entry->guards->hold(slots, held);
    if (!undo.knows_generators() || !entry->guards->draw()) {
      undo.restore_generators();
      return PyErr_Occurred() ? Piece::Failed : Piece::Plain;
    }
  }
  if (!make_numbers(*entry->guards, slots, numbers)) return Piece::Failed;
  std::optional<python::ShownFramesScope> shown;
  if (entry->shows_frames) {
    broken->inner_shown.resize(broken->codes.size());
    shown.emplace(broken->shown, broken->inner_shown);
  }
  const bool was_in_transform = tensor::is_in_transform();
  const artifact::RunEnd end = program.run(slots, target);
  shown.reset();
  if (end == artifact::RunEnd::Failed) return Piece::Failed;
  const bool failed = end == artifact::RunEnd::GraphFailed;
  if (failed && !was_in_transform) tensor::leave_transforms();
  if (failed && PyErr_ExceptionMatches(PyExc_Exception) &&
      (entry->failure.may_be_handled || !may_be_a_hooks()))
    broken->is_undone = undo.run();
  if (!failed) entry->failure.has_run = true;
  if (!failed && !entry->rest) {
    if (broken->shown && at.frame.start != 0)
      show_unchanged(at, *entry, broken->shown);
    return Piece::Returned;
  }
  broken->at = entry->rest ? &*entry->rest : nullptr;
  broken->entry = std::move(entry);
  return failed ? Piece::GraphFailed : Piece::Broke;
}

// Checks one entry and runs it if it is the right one.
Piece try_entry(Running& at, size_t index, const guards::CallView& view,
                PyObject** result, Broken* broken) {
  Entry& entry = *at.cache->entries()[index];
  // One in front of the inputs, for the callee (PEP 590).
  const size_t count = entry.program ? entry.program->slot_count() + 1 : 1;
  std::unique_ptr<PyObject*[]> heap;
  PyObject** slots = nullptr;
  if (count <= kStackSlots) {
    slots = static_cast<PyObject**>(alloca(count * sizeof(PyObject*)));
  } else {
    heap = std::make_unique<PyObject*[]>(count);
    slots = heap.get();
  }
  if (!entry.guards->run(view, slots + 1)) return Piece::Missed;
  return run_entry(at, index, slots + 1, result, broken);
}

Piece run_cached(Running& at, PyObject** result, Broken* broken) {
  const guards::CallView view = view_of(at.frame);
  for (size_t i = 0; i < at.cache->entries().size(); ++i) {
    const Piece piece = try_entry(at, i, view, result, broken);
    if (piece != Piece::Missed) return piece;
  }
  return Piece::Missed;
}

// Whether an entry may still match: its facts about classes hold.
bool renew_class_facts(CodeCache& cache) {
  if (is_compiling()) return false;
  // Abstract classes run Python code, which may change the list.
  const std::vector<EntryHold> entries = cache.entries();
  const python::FrameHookScope pause(false);
  const ForeignPause foreign;
  bool has_renewed = false;
  for (const EntryHold& entry : entries)
    has_renewed |= entry->guards->renew_class_facts();
  return has_renewed;
}

Piece run_known(Running& at, PyObject** result, Broken* broken) {
  const Piece piece = run_cached(at, result, broken);
  if (piece != Piece::Missed || !renew_class_facts(*at.cache)) return piece;
  return run_cached(at, result, broken);
}

Piece run_piece(Running& at, PyObject** result, Broken* broken) {
  if (at.cache->is_plain || stance == Stance::ForceEager ||
      python::thread_is_traced() || tensor::is_jit_tracing() ||
      !has_stack_room())
    return Piece::Plain;
  const Piece piece = run_known(at, result, broken);
  if (piece != Piece::Missed) return piece;
  if (is_compiling()) return Piece::Plain;
  switch (compile_frame(*at.cache, at.frame, at.wanted)) {
    case Compiled::Plain:
      return Piece::Plain;
    case Compiled::Left:
      return Piece::Left;
    case Compiled::Raises:
      if (!at.cache->settings()->fullgraph) return Piece::Plain;
      break;
    case Compiled::Error:
      return Piece::Failed;
    case Compiled::Entry:
      break;
  }
  // What the backend ran may have changed what the guards look at, or reset().
  const Piece again = run_known(at, result, broken);
  return again == Piece::Missed ? Piece::Plain : again;
}

// A frame as it is after the prologue of its code, at instruction *start: its
// cells are made.
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
  if (std::exchange(entry.failure.was_reported, true)) return true;
  Details details;
  return tell_user("graph_failed", details.add_place(frame.code, frame.start));
}

// The graph of this piece raised. The piece runs in plain Python from its
// beginning: there the user's code raises its own error, and handlers that
// would catch it do.
PyObject* run_again(const python::FrameRequest& frame, Broken& broken,
                    FrameValues& values) {
  Entry& entry = *broken.entry;
  python::PendingError error = python::PendingError::take();
  if (!broken.is_undone) {
    const int unit =
        entry.places.add_frames(error, frame.globals, frame.start != 0);
    std::move(error).restore();
    if (frame.start == 0) return nullptr;
    PyObject* result =
        run_plainly(frame, frame.start, values, &broken.shown, Plainly::Raise);
    if (!result && unit >= 0) {
      python::PendingError raised = python::PendingError::take();
      raised.move_outermost(
          frame.code, python::decoded(frame.code)[frame.start].offset, unit);
      std::move(raised).restore();
    }
    return result;
  }
  int32_t start = frame.start;
  if (start == 0) values = begin(frame, &start);
  Ref result = Ref::steal(
      run_plainly(frame, start, values, &broken.shown, Plainly::Pause));
  if (!result) return nullptr;
  if (entry.failure.asserts) return result.release();
  if (entry.failure.may_be_handled)
    return report_failure(frame, entry) ? result.release() : nullptr;
  // No handler could have caught it: the error is the backend's own.
  std::move(error).restore();
  return nullptr;
}

// With fullgraph=True: an exception that the trace has raised is the program's
// own if plain Python raises it, too; else the trace has met something that it
// can't do.
PyObject* run_to_raise(Running& at, Broken& broken) {
  const python::FrameRequest& frame = at.frame;
  int32_t start = 0;
  at.values = begin(frame, &start);
  Ref result = Ref::steal(
      run_plainly(frame, start, at.values, &broken.shown, Plainly::Pause));
  if (!result) return nullptr;
  MG_CHECK(broken.entry->raised, "the trace has ended with an exception");
  values::BreakInfo why = *broken.entry->raised;
  why.reason = "refused-call";
  Details details;
  details.add_break(why)
      .add_place(frame.code, broken.entry->end)
      .add("fullgraph", Py_True);
  (void)tell_user("unsupported", details);
  return nullptr;
}

// Runs pieces until the frame has ended, or its graph has broken.
enum class Reached : uint8_t {
  End,
  Break,
  Nowhere,
  Left  // nowhere, and functions that the frame calls aren't compiled
};

Reached run_to_break(Running& at, PyObject** result, Broken* broken) {
  python::FrameRequest& frame = at.frame;
  const auto plainly = [&](Plainly how, Reached at_start) {
    if (frame.start == 0) return at_start;
    at.held.put_back(at.values);
    ActiveScope active_scope(at.cache->settings());
    *result = run_plainly(frame, frame.start, at.values, &broken->shown, how);
    return Reached::End;
  };
  switch (run_piece(at, result, broken)) {
    case Piece::Broke:
      return Reached::Break;
    case Piece::Returned:
      return Reached::End;
    case Piece::Missed:
    case Piece::Plain:
      return plainly(Plainly::Continue, Reached::Nowhere);
    case Piece::Left:
      return plainly(Plainly::Pause, Reached::Left);
    case Piece::Raises:
      *result = run_to_raise(at, *broken);
      return Reached::End;
    case Piece::GraphFailed: {
      at.held.put_back(at.values);
      ActiveScope active_scope(at.cache->settings());
      *result = run_again(frame, *broken, at.values);
      return Reached::End;
    }
    case Piece::Failed:
      // The state is nearly what it was before the piece, so it is raised
      // there.
      return plainly(Plainly::Raise, Reached::End);
  }
  MG_CHECK(false, "a piece ends in one of these ways");
}

// Drops the frame's own references to arguments that the rest of the call holds
// itself. An argument that it has dropped is held to the call's end.
void drop_owned_arguments(const python::FrameRequest& request, Broken& broken) {
  const std::vector<int32_t>& variables = broken.at->shape.locals;
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto slot = static_cast<size_t>(variables[i]);
    if (slot >= request.owned.size()) continue;
    PyObject* held = broken.results[i];
    if (held && PyCell_Check(held)) held = PyCell_GET(held);
    if (held == request.owned[slot])
      Ref owned = Ref::steal(std::exchange(request.owned[slot], nullptr));
  }
}

// Whether nothing is left to do but to return the value on the stack.
bool only_returns(const python::FrameRequest& frame, const Rest& rest) {
  const bytecode::Instruction& next = python::decoded(frame.code)[rest.start];
  return next.op == bytecode::Op::ReturnValue;
}

}  // namespace

PyObject* go_on(const python::FrameRequest& request, Broken broken,
                Settings* settings) {
  PyObject* result = nullptr;
  Running at{.frame = request};
  at.frame.owned = {};
  python::HandledScope handled;
  do {
    if (!at.held.empty())
      at.held.put_back(at.values, broken.entry->overwritten);
    at.values = FrameValues();  // dead values die before the island runs
    const artifact::FrameShape& shape = broken.at->shape;
    handled.set(shape.handlers ? broken.results.take(shape.handled_place())
                               : nullptr);
    Ref shown = std::move(broken.shown);
    Rest rest;
    {
      ActiveScope active_scope(settings);
      if (!run_island(at.frame, std::move(broken), settings, &shown, at.held,
                      &rest))
        return nullptr;
      // A loop that is broken into pieces checks for Ctrl-C only here.
      if (!rest.raised && PyErr_CheckSignals() != 0) {
        at.held.put_back(rest.values);
        return run_plainly(at.frame, rest.start, rest.values, &shown,
                           Plainly::Raise);
      }
    }
    python::show_no_variables(shown);
    if (only_returns(at.frame, rest)) {
      Ref returned = rest.values.take(rest.values.size() - 1);
      at.held.put_back(rest.values);
      if (shown)
        python::show_end(shown,
                         python::decoded(at.frame.code)[rest.start].offset,
                         rest.values.span(), at.frame.cells);
      return returned.release();
    }
    at.cache = rest.cache;
    at.values = std::move(rest.values);
    at.frame.start = rest.start;
    at.frame.handlers = rest.cache->point().shape.handlers;
    at.frame.values = at.values.span();
    broken = Broken();
    broken.shown = std::move(shown);
  } while (run_to_break(at, &result, &broken) == Reached::Break);
  at.held.put_back(at.values);
  return result;
}

Ran run_frame(CodeCache& cache, const python::FrameRequest& request,
              Wanted wanted, PyObject** result) noexcept {
  *result = nullptr;
  if (request.builtins != builtins()) return Ran::Plain;
  try {
    Running at{.frame = request, .cache = &cache, .wanted = wanted};
    Broken broken;
    switch (run_to_break(at, result, &broken)) {
      case Reached::Nowhere:
        return Ran::Plain;
      case Reached::Left:
        return Ran::Left;
      case Reached::End:
        return Ran::Done;
      case Reached::Break:
        drop_owned_arguments(request, broken);
        *result = go_on(request, std::move(broken), cache.settings());
        return Ran::Done;
    }
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
