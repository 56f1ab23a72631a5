// SPDX-License-Identifier: BSD-3-Clause
// Where a graph breaks inside of `with torch.no_grad()` or torch.autocast, the
// graph leaves what it has entered, since backends don't carry a changed state
// out of a graph; the artifact enters it again.
#pragma once

#include "values/construction.h"
#include "values/context.h"

namespace magneto::natives {

// Records the calls that put the thread's state back to what it was when the
// trace began, and returns those that bring it to what it is now.
std::vector<values::Construction> close_states(values::Context& ctx,
                                               bool grad_mode_at_start);

}  // namespace magneto::natives
