// SPDX-License-Identifier: BSD-3-Clause
// A capture: what the trace of one frame hands to artifact. Values in it belong
// to the Context, whose heap says what was changed (Heap::modified) and what
// the values that the trace made consist of.
#pragma once

#include <functional>

#include "python/frame.h"
#include "values/model/construction.h"
#include "values/model/context.h"

namespace magneto::values {

enum class Ending : uint8_t {
  Return,  // the frame ran to its end: `result` is what it returns
  Break,   // instruction `index` is not supported: it runs in plain Python,
           // with the stack and locals given here, and the rest is resumed
  Raised,  // the traced program's exception left the frame: nothing is
           // compiled, and the frame runs in plain Python
  Skip,    // not to be compiled: `info` says why
};

// A generator that the trace made and left: its frame.
struct SuspendedFrame {
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  V function = nullptr;  // the one that the generator holds
  python::GeneratorPhase phase = python::GeneratorPhase::Created;
  int32_t pc = 0;         // the instruction to go on with
  std::vector<V> locals;  // localsplus; Null where unbound
  std::vector<V> stack;
  V handled = nullptr;         // the exception that is being handled in it
  bool has_finalizer = false;  // whether closing it has an effect
};

// The frame of an inlined call in which the graph breaks.
struct BrokenFrame {
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  size_t index = 0;
  std::vector<V> stack;
  std::vector<V> locals;
  int32_t handlers = 0;          // how many exception handlers it is in
  V handled = nullptr;           // the exception that these handle
  Journal::Position before = 0;  // of the journal, before that instruction
  V object = nullptr;            // in tracebacks; null if in none
  // C code holds the call's arguments to its end (DirectCall).
  bool holds_operands = false;
};

struct Capture {
  Ending ending = Ending::Skip;
  V result = nullptr;  // Return
  // Return: the variables that still have what they had when the piece began.
  std::vector<int32_t> unchanged;
  // Return, Break: the variables that the piece has written to, or unbound.
  std::vector<int32_t> written;
  size_t index = 0;       // Break: canonical instruction not executed;
                          // Return: the one that returns
  std::vector<V> stack;   // Break: operand stack before it, bottom first
                          // (Null where CPython has NULL)
  std::vector<V> locals;  // Break: localsplus (Null: unbound; cell variables
                          // are Cells)
  int32_t handlers = 0;   // Break: how many exception handlers it is in
  V handled = nullptr;    // Break: the exception that is being handled
  // Break: the frames of the inlined calls that instruction `index` is in, each
  // in an instruction that calls the next; the last one's isn't supported.
  std::vector<BrokenFrame> inner;
  // Of Generator values, by their number.
  std::vector<SuspendedFrame> generators;
  std::vector<Construction> reentries;  // Return, Break: calls, in order, that
                                        // bring the thread's state to what it
                                        // is here
  // Break: objects of torch.inference_mode that are entered again: each mode
  // ends with its object.
  std::vector<V> inference_modes;
  // Break: something that the frame held when it began has a finalizer.
  bool has_finalizers = false;
  bool calls_in_blocks = false;  // Return, Break: the graph has calls from
                                 // inside a with or try block
  BreakInfo info;                // Break, Skip
};

// Whether a capture with inner frames can hand them all that they need. If not,
// the graph breaks at the call of the innermost one instead.
using CanLeave = std::function<bool(const Capture&)>;

}  // namespace magneto::values
