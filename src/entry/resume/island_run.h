// SPDX-License-Identifier: BSD-3-Clause
// What comes after a graph break: the island, with the frames of the inlined
// calls that it is in, and the rest of the frame in plain Python.
#pragma once

#include "entry/cache.h"
#include "entry/resume/held_variables.h"
#include "entry/resume/values.h"
#include "python/frame.h"

namespace magneto::entry {

// What a frame has left where its graph broke.
struct Broken {
  EntryHold entry;  // keeps `at` alive
  const ResumePoint* at = nullptr;
  // As at->shape says; then those of at->inner, and so on.
  FrameValues results;
  // Of at->inner, and so on: what the piece has done may have let go of them.
  std::vector<Ref> codes;
  // The frame object of the call (python/shown_frame.h), and those of at->inner
  // and so on, or null.
  Ref shown;
  std::vector<Ref> inner_shown;
  // Of a graph that has failed: nothing of what it did is left, so that plain
  // Python may start over.
  bool is_undone = false;
};

// The frame as it goes on after an island.
struct Rest {
  CodeCache* cache;
  int32_t start;
  FrameValues values;
  bool raised = false;  // `start` is the handler of what the island raised
};

// Runs the island. False: it raised, which leaves the frame: a Python error is
// set. `settings`: of who looks at frames now; `shown`: as of
// python::FrameEntry; `held`: of the frame, and what it holds from now on. Runs
// user code.
bool run_island(const python::FrameRequest& frame, Broken broken,
                Settings* settings, Ref* shown, HeldVariables& held,
                Rest* rest);

// How the rest of a frame runs in plain Python.
enum class Plainly : uint8_t {
  Continue,
  Raise,  // from the error that is set
  Pause,  // what it calls isn't compiled either
};

// From instruction `start` to the frame's end; null with a Python error set.
// Takes the values over. `shown`: as of python::FrameEntry. Runs user code.
PyObject* run_plainly(const python::FrameRequest& frame, int32_t start,
                      FrameValues& values, Ref* shown, Plainly how);

}  // namespace magneto::entry
