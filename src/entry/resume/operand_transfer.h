// SPDX-License-Identifier: BSD-3-Clause
// What an island gives to the function that it calls. CPython's CALL moves its
// operands to the frame of a Python function; where frames go through a hook,
// it holds them until the call has ended.
#pragma once

#include "entry/resume/values.h"

namespace magneto::entry {

// The operands of a CALL lie from `first` on. What only they hold becomes the
// called function's, if it is one in Python. False with a Python error set.
bool give_operands(FrameValues& values, size_t first);

}  // namespace magneto::entry
