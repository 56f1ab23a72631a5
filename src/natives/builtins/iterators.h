// SPDX-License-Identifier: BSD-3-Clause
// What the tables of iterators share.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// StopIteration, with what a generator returned unless that is None or null.
Signal stop_iteration(Context& ctx, V returned);

// iterator.__iter__.
Outcome<V> itself(Context& ctx, const Arguments& args);

}  // namespace magneto::natives
