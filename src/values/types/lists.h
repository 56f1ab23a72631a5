// SPDX-License-Identifier: BSD-3-Clause
// list and what is laid out like it.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// The value of a list or deque whose items haven't been read yet.
V wrap_list(Context& ctx, PyObject* object, SourceId source);

}  // namespace magneto::values
