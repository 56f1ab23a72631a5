// SPDX-License-Identifier: BSD-3-Clause
// The interpreter: executes canonical instructions over symbolic values. What
// an instruction does is a handler (ops_*.cpp); what Python's objects do is the
// protocol (values/protocol/protocol.h); here are the loop, calls and
// exceptions.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "python/frame.h"
#include "support/journaled.h"
#include "trace/frame.h"
#include "values/model/capture.h"
#include "values/model/context.h"
#include "values/model/reachable.h"
#include "values/protocol/protocol.h"

namespace magneto::trace {

using bytecode::Instruction;
using bytecode::Op;
using values::Arguments;
using values::Context;
using values::Kind;

// How an instruction ends, when it doesn't end with a signal.
enum class Next : uint8_t {
  Continue,  // with frame.pc
  Return,    // frame.result is the frame's result
  Yield,     // frame.result is yielded; the frame goes on later
};

class Interpreter;
using Handler = Outcome<Next> (*)(Interpreter&, Frame&, Instruction);

class Interpreter final : public values::Inliner, public Journaled {
 public:
  explicit Interpreter(Context& context)
      : ctx(context),
        handled(context.journal, context.none()),
        raised_object_(context.journal),
        calls_in_blocks_(context.journal) {
    ctx.inliner = this;
  }
  ~Interpreter() {
    ctx.inliner = nullptr;
    ctx.heap.note_drops(nullptr);
  }
  Interpreter(const Interpreter&) = delete;

  Context& ctx;
  // The exception that is being handled, as sys.exc_info has it, or None. What
  // the caller handles is looked at only if the program asks.
  JournaledValue<V> handled;

  // Notes what the outermost frame holds (finalization.cpp). `arguments`: those
  // that nothing but the frame holds.
  void begin(const Frame& frame, std::span<PyObject* const> arguments);
  // Where the outermost frame ends or breaks: guards that what it has dropped
  // since has no finalizers, and finishes the frame objects of frames that go
  // on.
  void end(bool returns);
  // Runs a frame until it returns, yields, or a signal leaves it.
  Outcome<Next> run(Frame& frame);
  // The outermost frame: as run(), and a step that breaks is undone, so that
  // frame.current is the instruction that has not been executed.
  Outcome<Next> run_outermost(Frame& frame);

  // Whether the exception was raised as an object, by a `raise` or a handler;
  // C code may raise one by its class and argument only.
  bool is_raised_object(V exception) const {
    return exception == raised_object_;
  }
  void note_raised_object(V exception) { raised_object_ = exception; }

  // -- values::Inliner
  Outcome<V> inline_function(V function, const Arguments& args) override;
  Outcome<V> resume_generator(V generator, V sent, V thrown,
                              V* returned) override;
  graph::Origin origin() override;
  bool is_in_block() override;
  bool drops_result() const override;
  graph::LocationId location() override;
  const char* super_arguments(V* type, V* self) override;
  size_t depth() const override;
  PyObject* current_globals() override;
  std::vector<std::pair<PyObject*, V>> current_locals() override;
  V& current_namespace() override { return frame_->namespace_value; }
  V handled_exception() override { return handled; }
  void drop_broken() override { broken_.clear(); }
  std::string dump() const override;
  bool surely_lives(PyObject* object) const override;

  // After a break: the frames inside of the outermost one that go on by
  // themselves, outermost first.
  std::vector<values::BrokenFrame> broken() const {
    return {broken_.rbegin(), broken_.rend()};
  }
  // Moves the break to the call of the innermost of them, or of one around it:
  // what was traced inside of the call is undone.
  void break_at_call();
  // Whether a call was recorded from inside a with or try block, in any frame.
  bool calls_in_blocks() const { return calls_in_blocks_; }
  // Whether something that the outermost frame held when it began has a
  // finalizer.
  bool has_finalizers() const { return has_finalizers_; }

  // After the outermost frame has returned: the variables that still have the
  // values that it began with.
  const std::vector<int32_t>& unchanged() const { return unchanged_; }
  // The variables of the outermost frame that have been written to, or unbound.
  std::vector<int32_t> written(const Frame& outermost) const;

  // Makes the generator whose body is `frame`, which moves into it.
  V make_generator(Frame& frame);
  // The frames of all generators that were made, by their number.
  std::vector<values::SuspendedFrame> suspended_frames();
  // The value of a globals dictionary.
  V globals_value(PyObject* globals);

  std::optional<WrittenPart> written(uint64_t what,
                                     uint64_t index) const override;
  std::string part_name(uint64_t generator) const override;
  std::string part_content(uint64_t generator) const override;
  void undo(uint64_t what, uint64_t index) noexcept override;

 private:
  // A frame as it was before a step that may have to be taken back, since what
  // the step drops has a finalizer (finalization.cpp).
  struct FrameBefore {
    FrameBefore(const values::Heap& heap, const Frame& frame, V exception)
        : stack(frame.stack),
          locals(frame.locals),
          contents(contents_of(heap, locals)),
          handlers(frame.handlers),
          handled(exception) {}
    void restore(Frame& frame) &&;
    // What is in each variable that is a cell; null for the others.
    static std::vector<V> contents_of(const values::Heap& heap,
                                      const std::vector<V>& locals);
    std::vector<V> stack, locals, contents;
    int32_t handlers;
    V handled;
  };
  using MaybeBefore = std::optional<FrameBefore>;
  MaybeBefore before_step(const Frame& frame,
                          const Instruction& instruction) const {
    if ((watched_.empty() && unfinished_.empty()) ||
        bytecode::info(instruction.op).only_adds ||
        (watched_.empty() && !may_drop_generators(frame, instruction)))
      return std::nullopt;
    return FrameBefore(ctx.heap, frame, handled);
  }
  // After each step of a frame; `before`: the frame before it, if needed. If
  // the step has dropped what has a finalizer, the finalizer runs (of a
  // generator) or the graph breaks at the step.
  Outcome<Next> after_step(Frame& frame, Outcome<Next> next,
                           MaybeBefore&& before) {
    if (before) [[unlikely]]
      return finalize_dropped(frame, next, *std::move(before));
    if (!next && !unfinished_.empty()) [[unlikely]]
      return finalize_dropped(frame, next,
                              FrameBefore(ctx.heap, frame, handled));
    return next;
  }
  std::vector<V> dropped_by_step(const Frame& frame, const FrameBefore& before,
                                 bool returns) const;
  void guard_finalization_order(V value);
  V finalized_out_of_order(const Frame& frame) const;
  V dropped_with_finalizer(const Frame& frame, std::span<const V> dropped,
                           bool returns) const;
  Outcome<Next> finalize_dropped(Frame& frame, Outcome<Next> next,
                                 FrameBefore&& before);

  struct GeneratorState {
    enum Phase : uint8_t { Created, Suspended, Running, Finished };
    Frame frame;
    Phase phase = Created;
  };
  bool unwind(Frame& frame);
  // The kinds of undo records in the journal.
  enum Undo : uint64_t {
    kGeneratorMade,
    kGeneratorResumed,
    kFrameObject,
    kDropsTaken,
  };
  Signal trace_back(Frame& frame);
  // The frame's object, made if it has none yet.
  V object_of(Frame& frame);
  void forget_object(uint64_t id) noexcept;
  void show(Frame& frame, V unit);
  void show_end(Frame& frame, const Outcome<Next>& next);
  void show_left();
  // Every so many steps: whether the trace should go on.
  Status check_progress();
  // Whether the generator is suspended inside of a with or try block.
  static bool is_in_block(const GeneratorState& state) {
    return state.phase == GeneratorState::Suspended &&
           state.frame.code->handler_for(state.frame.pc - 1);
  }
  bool generator_has_finalizer(V generator);
  void set_phase(size_t generator, GeneratorState::Phase phase);
  void expect_finalization(size_t generator);
  // generator_finalization.cpp
  bool may_drop_generators(const Frame& frame,
                           const Instruction& instruction) const;
  void add_frame(values::Reachable& reachable, size_t generator) const;
  void follow_generators(values::Reachable& reachable) const;
  values::Reachable held_after(const Frame& frame,
                               const Outcome<Next>& next) const;
  V generator_to_finalize(const Frame& frame, const Outcome<Next>& next,
                          std::span<const V> dropped) const;
  Status finalize_generator(V generator);
  Status finalize_generators(const Frame& frame, const Outcome<Next>& next,
                             std::span<const V> dropped);
  V delegate_of(const Frame& frame) const;
  Status close_delegate(V delegate);
  Outcome<V> throw_into_delegate(V delegate, V* thrown, V* ended);
  Signal left_by_exception();
  Signal raise_thrown(V thrown, V handled_inside);
  bool may_have_dropped_dead_variables() const;
  graph::LocationId location(Frame& frame);
  Outcome<Next> run_nested(Frame& frame);
  Signal too_deep();
  // rehearsal.cpp
  void rehearse(Frame& frame, Instruction instruction);
  void keep_broken(Frame& frame, Journal::Position before);

  Frame* frame_ = nullptr;  // innermost
  bool is_rehearsing_ = false;
  JournaledValue<V> raised_object_;
  size_t depth_ = python::recursion_depth();
  JournaledValue<bool> calls_in_blocks_;
  std::vector<V> begun_;  // see begin()
  bool begun_at_start_ = true;
  std::vector<int32_t> unchanged_;
  bool has_finalizers_ = false;  // whether some of begun_ have one
  std::vector<V> watched_;       // of these, those that may die by a step
  std::vector<values::BrokenFrame> broken_;  // innermost first
  Journal::Position before_outermost_ = 0;   // before its last instruction
  int64_t checks_ = 0;                       // see check_progress()
  std::vector<std::unique_ptr<GeneratorState>> generators_;
  // A generator before it was resumed, for undo().
  struct SavedGenerator {
    GeneratorState state;
    std::vector<size_t> unfinished;
  };
  std::vector<std::unique_ptr<SavedGenerator>> saved_generators_;
  // The numbers of generators that may be suspended inside of a with or try
  // block, which is when they have a finalizer.
  std::vector<size_t> unfinished_;
  // What objects of the trace have dropped since it was last looked at.
  std::vector<V> dropped_;
  std::vector<std::vector<V>> taken_drops_;  // for undo()
};

// Polyfills stand for C code, which has no frames.
bool is_polyfill(const Frame& frame);

// Binds the arguments of a call to the parameters of `code`, as CPython does,
// into frame.locals; raises its TypeErrors.
struct Defaults {
  std::vector<V> positional;     // of the last parameters
  V keyword = nullptr;           // Dict value or null
  PyObject* function = nullptr;  // the caller's object that they belong to
  guards::SourceId source;       // where that is found
};
Status bind_arguments(Context& ctx, Frame& frame, PyObject* function_name,
                      const Defaults& defaults, const Arguments& args);

// The handler of each canonical operation.
extern const Handler kHandlers[bytecode::kOpCount];

}  // namespace magneto::trace
