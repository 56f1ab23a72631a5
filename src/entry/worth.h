// SPDX-License-Identifier: BSD-3-Clause
// Which frames may have something to compile. One that sees no tensor, no
// module and nothing of torch's gives an empty graph.
#pragma once

#include "python/frame.h"

namespace magneto::entry {

// Runs no user code.
bool is_worth_compiling(const python::FrameRequest& request);

}  // namespace magneto::entry
