// SPDX-License-Identifier: BSD-3-Clause
#include "entry/frames.h"

#include <exception>

#include "entry/callable/stance.h"
#include "entry/compiler.h"
#include "entry/driver.h"
#include "entry/frame_rules.h"
#include "entry/worth.h"
#include "python/frame.h"

namespace magneto::entry {
namespace {

using python::FrameRequest;

using python::FrameAnswer;

FrameAnswer run(const FrameRequest& request, PyObject** result) noexcept {
  BasicRef<Settings> settings = BasicRef<Settings>::share(active_settings());
  if (!settings || is_compiling() || stance == Stance::ForceEager)
    return FrameAnswer::Evaluate;
  auto code = BasicRef<PyCodeObject>::share(request.code);
  try {
    CodeCache& cache =
        CodeRecord::of(code).cache(settings, {.code = code.get()});
    if (cache.entries().empty() && !is_worth_compiling(request))
      return FrameAnswer::Evaluate;
    switch (run_frame(cache, request, Wanted::InPassing, result)) {
      case Ran::Done:
        return FrameAnswer::Ran;
      case Ran::Plain:
        return FrameAnswer::Evaluate;
      case Ran::Left:
        return FrameAnswer::Pause;
    }
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
    *result = nullptr;
  }
  return FrameAnswer::Ran;
}

}  // namespace

void install_frame_handlers() noexcept {
  python::set_frame_handlers({.classify = frame_rule, .run = run});
}

}  // namespace magneto::entry
