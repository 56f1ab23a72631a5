// SPDX-License-Identifier: BSD-3-Clause
// Modules that are loaded already.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// What sys.modules has for the name, guarded; null if the module isn't loaded
// to its end, is no module, or the trace has put something else there.
V imported_module(Context& ctx, PyObject* name);

}  // namespace magneto::values
