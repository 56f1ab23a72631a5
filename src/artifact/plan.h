// SPDX-License-Identifier: BSD-3-Clause
// From a capture to a direct program: what has to be built, what the graph must
// return for it, and which of the caller's values are needed.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "artifact/program.h"
#include "python/frame.h"
#include "values/model/capture.h"

namespace magneto::artifact {

// What a frame needs to go on after a graph break, in the order in which the
// program's results hold it: the live locals, then the stack without its NULLs,
// then, if the frame is in handlers, the exception that is being handled.
struct FrameShape {
  std::vector<int32_t> locals;      // localsplus slots, ascending
  std::vector<bool> stack_is_null;  // bottom first
  int32_t handlers = 0;
  // Frames of inlined calls: the cells of the function's closure come last.
  size_t cells = 0;

  // Where the results hold them.
  size_t handled_place() const {
    return locals.size() +
           static_cast<size_t>(
               std::count(stack_is_null.begin(), stack_is_null.end(), false));
  }
  size_t first_cell() const { return handled_place() + (handlers ? 1 : 0); }

  friend bool operator==(const FrameShape&, const FrameShape&) = default;
};

// A program whose graph is not cleaned up yet.
struct Plan {
  DirectProgramBuilder builder;
  // What DirectProgramBuilder::input(n) are.
  std::vector<guards::Request> requests;
  // Ending::Break: of the frame, and of the inlined calls that it is in.
  std::vector<FrameShape> shapes;
  // The program makes frame objects (python/shown_frame.h).
  bool shows_frames = false;
};

// Plans the rest of a frame that ended with Return or Break, and gives the
// graph its output node. `live`: for the frame and each of capture.inner, the
// localsplus slots that the rest of the function needs. An instruction that
// calls an inner frame gets None for its operands. False if something can't be
// rebuilt; then the frame has to run in plain Python, and *why says what it
// was.
bool plan(values::Context& ctx, const values::Capture& capture,
          const python::FrameRequest& frame,
          std::span<const std::vector<int32_t>> live, Plan& out,
          values::BreakInfo* why);

}  // namespace magneto::artifact
