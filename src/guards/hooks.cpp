// SPDX-License-Identifier: BSD-3-Clause
#include "guards/hooks.h"

namespace magneto::guards {

Hooks& hooks() noexcept {
  static Hooks table;  // addresses of functions, nothing of Python's
  return table;
}

}  // namespace magneto::guards
