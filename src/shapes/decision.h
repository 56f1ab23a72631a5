// SPDX-License-Identifier: BSD-3-Clause
// What a shape environment hands to others, without the environment itself.
#pragma once

#include <cstdint>
#include <memory>

#include "shapes/expression.h"

namespace magneto::shapes {

class Environment;

// Of one trace; sizes of its fake tensors may outlive the trace.
using EnvironmentRef = std::shared_ptr<Environment>;

// A condition that the call must fulfil for the trace's result to be right.
struct Decision {
  E condition;     // true, for the hints
  uint32_t place;  // where in the traced program it was made: see set_place
};

// Of what no place in the program has asked for.
inline constexpr uint32_t kNoPlace = 0xffffffff;

}  // namespace magneto::shapes
