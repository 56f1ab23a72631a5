// SPDX-License-Identifier: BSD-3-Clause
// What a trace may do, as whoever starts it says, and what it asks of the rooms
// that it mustn't know.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace magneto::values {

class Inliner;
class NativeTable;
class SymbolPolicy;
class Witness;

struct TracePolicy {
  // fullgraph=True: the frame can't be left to plain Python.
  bool must_be_whole = false;
  // Whether numbers out of tensors are symbols; else the graph breaks there.
  bool takes_data = true;
  // Whether the graph may have an LSTM on a CPU that is differentiated; whether
  // the trace has met one.
  bool takes_lstm = true, has_lstm = false;
  // Whether what functions behind lru_cache make is made anew by each call, as
  // long as nobody touches it (Heap::share_since); else the graph breaks there.
  bool shares_cached = true;
  // Whether the graph may set requires_grad of what it computes; else the graph
  // breaks there.
  bool sets_requires_grad = true;
  // Whether callees that break the graph are gone on with by themselves.
  bool keeps_inner_frames = true;
  // A check of the tracer itself: each step is made twice, and taken back
  // between (trace/rehearsal.cpp).
  bool rehearses = false;
  // Whether instruction `index` of the code can be run in plain Python alone,
  // so that its frame goes on after it.
  bool (*stands_alone)(PyCodeObject* code, int32_t index) = nullptr;

  Inliner* inliner = nullptr;
  NativeTable* natives = nullptr;
  Witness* witness = nullptr;             // null: nobody wants to hear
  SymbolPolicy* symbol_policy = nullptr;  // null: none does
};

}  // namespace magneto::values
