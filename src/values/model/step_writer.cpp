// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/step_writer.h"

namespace magneto::values {

void cannot_rebuild(const std::string& what) {
  throw CannotRebuild{{"cannot-rebuild",
                       what + " would have to outlive the compiled part",
                       "use it up before the graph break or return"}};
}

}  // namespace magneto::values
