// SPDX-License-Identifier: BSD-3-Clause
// Torch's functions that change the state of the thread that runs a graph.
#pragma once

#include "python/ref.h"

namespace magneto::graph {

// All null where torch isn't loaded.
struct StateFunctions {
  Ref is_grad_enabled;   // torch._C.is_grad_enabled
  Ref set_grad_enabled;  // torch._C._set_grad_enabled
  Ref enter_autocast;    // torch.amp.autocast_mode._enter_autocast
  Ref exit_autocast;     // torch.amp.autocast_mode._exit_autocast
};

StateFunctions find_state_functions();

}  // namespace magneto::graph
