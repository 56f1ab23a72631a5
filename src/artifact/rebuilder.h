// SPDX-License-Identifier: BSD-3-Clause
// Builds the values that a frame leaves behind: each once, however often it is
// met. Containers are made empty when they are met and filled when everything
// reachable has been made, so cycles need no care.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "artifact/plan.h"
#include "values/model/step_writer.h"
#include "values/types/type_table.h"

namespace magneto::artifact {

using values::cannot_rebuild;

class Rebuilder final : public values::StepWriter {
 public:
  Rebuilder(values::Context& ctx, const values::Capture& capture,
            const python::FrameRequest& frame, Plan& plan)
      : ctx_(ctx),
        capture_(capture),
        frame_(frame),
        plan_(plan),
        builder_(plan.builder) {}

  // `replay` is called with caller's objects that are about to be looked into:
  // what the trace wrote to them must be written by then.
  void replay_first(std::function<void(values::HeapId)> replay) {
    replay_ = std::move(replay);
  }

  Operand build(values::V value);
  // Fills what build() has made.
  void fill_all();
  void call(const values::Construction& what) { (void)make_by_call(what); }
  void call_late(StepOp how, const values::LateCall& call);
  // Makes the arguments of a call that comes after the rest, to be filled.
  void make_arguments(const values::LateCall& call);
  // Throws if a generator that nothing refers to any more would run user code
  // when it dies: it can't be left out.
  void expect_no_finalizers();
  // Stands for an operand of a call whose callee goes on by itself: only an
  // operand that is unpacked must be what it was.
  Operand filler(PyCodeObject* code, size_t index, size_t operand);
  std::span<const graph::Arg> outputs() const { return outputs_; }

  // -- StepWriter
  using StepWriter::act;
  using StepWriter::call;
  void act(StepOp op, std::span<const values::V> operands) override;
  void call(values::V callable, std::span<const values::V> arguments) override;
  void make(values::V value) override { (void)build(value); }
  bool is_easily_built(values::V value) const override {
    return is_easily_built(value, 0);
  }
  const values::SuspendedFrame& suspended(values::V generator) const override;
  void show_frames() override { plan_.shows_frames = true; }

 private:
  Operand from_source(guards::SourceId source);
  Operand of_node(graph::NodeId node);
  Operand of_number(shapes::E number);
  Operand make_new(values::V value);
  Operand make_text(values::V value);
  Operand make_tuple(values::V value);
  Operand make_of_plain(values::V value);
  Operand make_bound(const values::MethodValue& method);
  Operand make_container(values::V value);
  Operand make_function(values::V value);
  Operand make_iterator(values::V value);
  std::optional<values::Construction> construction(values::V value);
  Operand make_by_call(const values::Construction& how);
  Operand make_generator(values::V value);
  std::vector<Operand> build_all(std::span<const values::V> values);
  Operand build_or_null(values::V value);
  // For code that looks inside a value: it is filled at once if the trace made
  // it, and the writes to it are replayed.
  Operand build_filled(values::V value);
  Operand globals(PyObject* dict) {
    return from_source(ctx_.sources.constant(dict));
  }
  Operand text(PyObject* name) { return builder_.constant(name); }
  // An object that the program names.
  Operand known(PyObject* object);
  // A class, made anew if the trace made it.
  Operand class_of(PyObject* type);
  Operand alias(PyObject* object);
  Operand type_of(values::V value) {
    return class_of(reinterpret_cast<PyObject*>(value->type));
  }

  void fill(values::V value);
  bool is_easily_built(values::V value, int depth) const;

  values::Context& ctx_;
  const values::Capture& capture_;
  const python::FrameRequest& frame_;
  Plan& plan_;
  DirectProgramBuilder& builder_;
  std::function<void(values::HeapId)> replay_;
  std::unordered_map<values::V, Operand> built_;
  std::unordered_map<PyObject*, Operand> aliases_;
  std::unordered_map<guards::SourceId, size_t> inputs_;
  std::unordered_map<shapes::E, size_t> numbers_;
  std::unordered_map<graph::NodeId, size_t> output_of_;
  std::vector<graph::Arg> outputs_;
  // Made, but still empty. Those that hash their items come last: what they
  // hash should be filled by then.
  std::vector<values::V> to_fill_;
  std::vector<values::V> to_fill_last_;
  std::unordered_set<values::V> filled_;
  // Iterators that are being made: one that its own container holds can't be.
  std::unordered_set<values::V> in_progress_;
};

}  // namespace magneto::artifact
