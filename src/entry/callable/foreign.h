// SPDX-License-Identifier: BSD-3-Clause
// torch.compile in the same process: what we run ourselves must not be compiled
// by it.
#pragma once

#include "python/ref.h"

namespace magneto::entry {

// While one lives, torch.compile's frame hook lets this thread's frames pass.
// Costs nothing while there is no such hook.
class ForeignPause {
 public:
  ForeignPause() noexcept;
  ~ForeignPause();
  ForeignPause(const ForeignPause&) = delete;
  ForeignPause& operator=(const ForeignPause&) = delete;

 private:
  Ref callback_;  // what was there before; null: nothing to put back
};

}  // namespace magneto::entry
