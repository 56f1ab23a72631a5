// SPDX-License-Identifier: BSD-3-Clause
// A call that makes a real object of what the trace knows of it.
#pragma once

#include <vector>

#include "values/model/value.h"

namespace magneto::values {

// `callable(*positional)` gives an equal object; of a container an empty one,
// to be filled afterwards.
struct Construction {
  V callable = nullptr;
  std::vector<V> positional;
};

}  // namespace magneto::values
