// SPDX-License-Identifier: BSD-3-Clause
// What one call of the traced program hands to the next, or to its caller,
// besides arguments and results. All of it is taken at once by whom it is for,
// or put back by the C++ scope that set it; so there is nothing to journal.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "values/model/value.h"

namespace magneto::values {

// A frame that only passes a call on: its instruction `index` calls, and it
// returns what it gets (Module.__call__).
struct PassingFrame {
  PyCodeObject* code;
  PyObject* globals;
  int32_t index;
};

// Said of a call whose result is that of the user's call instruction, as it is:
// where the callee breaks the graph, it can be gone on with by itself.
struct DirectCall {
  bool is_direct = false;
  std::span<const PassingFrame> through = {};  // outermost first
  // C code is in between, which holds what the call was given to its end.
  bool holds_operands = false;
};

struct CallState {
  // Of the call that comes next; whoever calls takes it (std::exchange) before
  // anything else is called.
  DirectCall direct_call;
  bool native_is_direct = false;  // of a native that is called; as direct_call
  int32_t native_depth = 0;       // calls of natives that are under way
  // What the last end of an iteration brought, for iterators that pass it on;
  // null if nothing: values::next().
  V end_value = nullptr;
  // find_attribute's exception where the class's own __getattr__ raised it.
  V missing_attribute = nullptr;
  // Special methods that are being called (see call_special).
  struct Question {
    V object;
    PyObject* name;
    friend bool operator==(const Question&, const Question&) = default;
  };
  std::vector<Question> open_questions;
  // The nn.Module whose forward is being traced, for the nodes' metadata.
  graph::ScopeId scope;
  // Until the interpreter looks whether the trace gets on: instructions, and
  // what natives do to many items at once. Never undone.
  int64_t steps_to_check = 0;

  // After a rollback: what was to be handed on is gone.
  void drop_handed() {
    direct_call = {};
    native_is_direct = false;
    end_value = nullptr;
    missing_attribute = nullptr;
  }
};

}  // namespace magneto::values
