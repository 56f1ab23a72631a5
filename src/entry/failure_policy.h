// SPDX-License-Identifier: BSD-3-Clause
// What is done where the graph of a piece fails. Plain Python then runs the
// piece again from its beginning and raises what the program raises; for that,
// what the graph has done must be undone: what it has written to its inputs,
// and the random numbers that it has drawn.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace magneto::entry {

struct FailurePolicy {
  // When the inputs that the graph writes to are kept, to be put back.
  enum class KeepsInputs : uint8_t {
    Never,  // it writes to none
    // Until a run has come to its end, which is where what no shape rule knows
    // comes out. Nobody can tell how far a later one has come that fails.
    FirstRun,
    // The same, but somebody can tell; a later run can only fail in front of
    // the first write.
    FirstRunOrBeforeWrite,
    // Somebody can tell, and each run may fail when it has written.
    EachRun,
  };
  KeepsInputs keeps_inputs = KeepsInputs::Never;
  // The first call of the graph that writes, or one in front of it.
  graph::NodeId first_write;
  bool has_run = false;  // to its end, once
  // It draws random numbers, whose state must be the same for a second run.
  bool draws = false;
  bool uses_accelerator = false;
  // It has calls from inside with or try blocks, where the program may handle
  // what they raise.
  bool may_be_handled = false;
  // The graph asserts more than the program says: that a size isn't negative
  // where -1 means something else. So plain Python may go on where it fails.
  bool asserts = false;
  bool was_reported = false;

  bool writes() const { return keeps_inputs != KeepsInputs::Never; }
  // Whether the run that begins now may have to be taken back.
  bool may_undo() const {
    return keeps_inputs != KeepsInputs::FirstRun || !has_run;
  }
  bool keeps_inputs_now() const {
    return writes() && (!has_run || keeps_inputs == KeepsInputs::EachRun);
  }
  // Whether a run that failed at that call has written to nothing.
  bool has_failed_before_write(graph::NodeId failed) const {
    return keeps_inputs >= KeepsInputs::FirstRunOrBeforeWrite &&
           failed.valid() && failed.index < first_write.index;
  }
};

}  // namespace magneto::entry
