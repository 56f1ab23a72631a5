// SPDX-License-Identifier: BSD-3-Clause
// The state of torch's that a traced program may switch: grad mode, autocast,
// inference mode, the choice of attention kernels.
#pragma once

#include <memory>

namespace magneto::tensor {

// Puts back on destruction what was in force on construction. Until then, the
// program's hooks on saved tensors rest.
class GlobalStateScope {
 public:
  GlobalStateScope();
  ~GlobalStateScope();
  GlobalStateScope(const GlobalStateScope&) = delete;
  GlobalStateScope& operator=(const GlobalStateScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace magneto::tensor
