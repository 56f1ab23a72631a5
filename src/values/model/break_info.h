// SPDX-License-Identifier: BSD-3-Clause
// What a graph break tells the user.
#pragma once

#include <string>
#include <vector>

#include "guards/guard.h"
#include "values/model/reasons.h"

namespace magneto::values {

using guards::FrameSummary;

// A graph break under way: why, what about, and what the user can do (empty:
// what the reason's row says).
struct BreakInfo {
  Reason reason;
  std::string detail;
  std::string hint;
  // The place in the user's program, the outermost frame of the trace first.
  // Empty: where the trace began.
  std::vector<FrameSummary> stack = {};
  // The whole frame runs in plain Python, and so does what it calls.
  bool skips_calls = false;
};

// A graph break found where no Outcome can be returned (inside a Backing). The
// interpreter's loop turns it into Signal::Break.
struct BreakException {
  BreakInfo info;
};

}  // namespace magneto::values
