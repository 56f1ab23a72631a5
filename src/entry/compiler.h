// SPDX-License-Identifier: BSD-3-Clause
// What happens on a miss: trace, plan, compile the graph, keep the entry.
#pragma once

#include "entry/cache.h"
#include "python/frame.h"
#include "values/model/capture.h"

namespace magneto::entry {

// How frames are traced: trace::capture_frame, given by the module room; tests
// give their own.
using CaptureFrame = values::Capture (*)(values::Context& ctx,
                                         const python::FrameRequest& request,
                                         const values::CanLeave& can_leave);
void set_capture_frame(CaptureFrame capture) noexcept;

enum class Compiled : uint8_t {
  Entry,   // a new entry is in front of the cache's list; its guards hold
  Plain,   // run the frame in plain Python
  Left,    // the same, and what it calls isn't compiled either
  Raises,  // as Plain: an exception leaves the frame
  Error,   // a Python error is set, for the caller of the frame
};

// Who wants a frame compiled.
enum class Wanted : uint8_t {
  ByUser,    // who has given the function to compile()
  InPassing  // nobody: plain Python has called it
};

Compiled compile_frame(CodeCache& cache, const python::FrameRequest& request,
                       Wanted wanted);

// True while this thread traces a frame or a backend compiles its graph.
bool is_compiling() noexcept;

// Objects for the numbers among a guard program's inputs, which it has just
// computed; `numbers` owns them. False with a Python error set.
bool make_numbers(const guards::GuardProgram& guards, PyObject** inputs,
                  std::vector<Ref>& numbers);

}  // namespace magneto::entry
