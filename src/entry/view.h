// SPDX-License-Identifier: BSD-3-Clause
// A frame as guards look at it.
#pragma once

#include "guards/program.h"
#include "python/frame.h"

namespace magneto::entry {

inline guards::CallView view_of(const python::FrameRequest& request) {
  return {.locals = request.values.data(),
          .nlocals = request.values.size(),
          .cells = request.cells.data(),
          .ncells = request.cells.size(),
          .globals = request.globals,
          .builtins = request.builtins};
}

}  // namespace magneto::entry
