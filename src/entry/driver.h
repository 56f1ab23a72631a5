// SPDX-License-Identifier: BSD-3-Clause
// Runs a frame from what was compiled for it: finds the entry whose guards
// hold, or compiles one, runs it, and where its graph broke runs the island and
// goes on after it, until the frame returns. All of that happens in one C++
// call, however often the graph breaks, so a loop with a break in it needs no
// deeper stack.
#pragma once

#include "entry/cache.h"
#include "entry/compiler.h"
#include "entry/resume/island_run.h"
#include "python/frame.h"

namespace magneto::entry {

enum class Ran : uint8_t {
  Done,   // *result is what the frame returns; null with a Python error set
  Plain,  // nothing was run: the frame is to be evaluated by CPython
  Left,   // the same, and what it calls is to be left alone
};

// `cache` is that of the frame's start. The caller keeps what the request
// refers to, the code object and the settings alive. Runs user code.
Ran run_frame(CodeCache& cache, const python::FrameRequest& request,
              Wanted wanted, PyObject** result) noexcept;

// Goes on to its end with a frame whose graph has broken; null with a Python
// error set. May throw. Runs user code.
PyObject* go_on(const python::FrameRequest& frame, Broken broken,
                Settings* settings);

// The settings whose frames this thread is looking at (see FrameHookScope), or
// null. Borrowed.
Settings* active_settings() noexcept;

// While one lives, frames that this thread evaluates are compiled with these
// settings if they are looked at.
class ActiveScope {
 public:
  explicit ActiveScope(Settings* settings) noexcept;
  ~ActiveScope();
  ActiveScope(const ActiveScope&) = delete;
  ActiveScope& operator=(const ActiveScope&) = delete;

 private:
  Settings* outer_;
};

}  // namespace magneto::entry
