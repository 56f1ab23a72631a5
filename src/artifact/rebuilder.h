// SPDX-License-Identifier: BSD-3-Clause
// Builds the values that a frame leaves behind: each once, however often it is
// met. Containers are made empty when they are met and filled when everything
// reachable has been made, so cycles need no care.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "artifact/plan.h"
#include "values/types/construction.h"

namespace magneto::artifact {

// Thrown by the walk where a value can't be built; plan() catches it.
struct CannotRebuild {
  values::BreakInfo why;
};

[[noreturn]] void cannot_rebuild(const std::string& what);

class Rebuilder {
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
  // Gives the dict at `target` the items that the trace wrote, or all.
  void set_items(const values::DictState& dict, Operand target, bool all);
  Operand hash_of(const values::DictEntry& entry);
  // What was written to the tensor's `grad`, if anything.
  void set_gradient(values::V tensor, Operand target);
  // Does to the set at `target` what the trace has done to it, in order.
  void change_set(const values::HeapObject& set, Operand target);
  void call(const values::Construction& what) { (void)make_by_call(what); }
  void call_late(StepOp how, const values::LateCall& call);
  // Throws if a generator that nothing refers to any more would run user code
  // when it dies: it can't be left out.
  void expect_no_finalizers();
  // Stands for an operand of a call whose callee goes on by itself: only an
  // operand that is unpacked must be what it was.
  Operand filler(PyCodeObject* code, size_t index, size_t operand);
  std::span<const graph::Arg> outputs() const { return outputs_; }

 private:
  Operand from_source(guards::SourceId source);
  Operand of_node(graph::NodeId node);
  Operand of_number(shapes::E number);
  Operand make(values::V value);
  Operand make_text(values::V value);
  Operand make_token(values::V token);
  Operand make_tuple(values::V value);
  Operand make_of_plain(values::V value);
  Operand make_bound(const values::MethodValue& method);
  Operand make_container(values::V value);
  Operand make_function(values::V value);
  Operand make_iterator(values::V value);
  Operand make_by_call(const values::Construction& how);
  Operand make_generator(values::V value);
  std::vector<Operand> build_all(std::span<const values::V> values);
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

  void fill(values::V value, Operand target);
  void fill_attributes(const values::HeapObject& state, Operand target);
  void fill_exception(const values::HeapObject& state, Operand target);
  void fill_function(values::V value, Operand target);
  void fill_generator(values::V value, Operand target);
  void fill_frame(const values::HeapObject& state, Operand target);
  bool is_easily_built(values::V value, int depth = 0) const;
  void name_generator(values::V value, Operand target);
  const values::SuspendedFrame& suspended(values::V generator) const;
  Operand number(long value) {
    return builder_.constant(Ref::steal(PyLong_FromLong(value)));
  }

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
