// SPDX-License-Identifier: BSD-3-Clause
// Where a graph breaks inside of `with torch.no_grad()`, torch.inference_mode()
// or torch.autocast, the graph leaves what it has entered, since backends don't
// carry a changed state out of a graph; the artifact enters it again, as it
// does with torch.device.
#pragma once

#include "values/construction.h"
#include "values/context.h"

namespace magneto::natives {

// The thread's state when a trace began.
struct StateAtStart {
  uint64_t autograd;

  bool grad_mode() const;
  static StateAtStart now();
};

// Records the calls that put the thread's state back to what it was when the
// trace began, and returns those that bring it to what it is now; nothing if
// it can't be handed over.
std::optional<std::vector<values::Construction>> close_states(
    values::Context& ctx, const StateAtStart& start);

}  // namespace magneto::natives
