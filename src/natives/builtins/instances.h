// SPDX-License-Identifier: BSD-3-Clause
// What instances are of.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// An object that isn't of the class may say that it is: by its __class__.
Outcome<bool> pretends_to_be(Context& ctx, V value, PyTypeObject* wanted);

}  // namespace magneto::natives
