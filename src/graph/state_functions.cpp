// SPDX-License-Identifier: BSD-3-Clause
#include "graph/state_functions.h"

#include "python/find.h"

namespace magneto::graph {

namespace {

Ref find(const char* path) { return Ref::share(find_object(path)); }

}  // namespace

StateFunctions find_state_functions() {
  return {.is_grad_enabled = find("torch._C.is_grad_enabled"),
          .set_grad_enabled = find("torch._C._set_grad_enabled"),
          .enter_autocast = find("torch.amp.autocast_mode._enter_autocast"),
          .exit_autocast = find("torch.amp.autocast_mode._exit_autocast")};
}

}  // namespace magneto::graph
