// SPDX-License-Identifier: BSD-3-Clause
#include "support/check.h"

namespace magneto {

void fail_check(const char* file, int line, const char* condition,
                const std::string& message) {
  throw InternalError(message + " (" + condition + ", " + file + ":" +
                      std::to_string(line) + ")");
}

}  // namespace magneto
