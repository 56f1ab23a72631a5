// SPDX-License-Identifier: BSD-3-Clause
// descriptor.__get__(object, type=None), called by name: CPython's slot wrapper
// looks at the arguments before the descriptor does.
#pragma once

#include "values/model/context.h"

namespace magneto::natives {

// Whether there is no object, but only a type. Raises a TypeError where there
// is neither.
Outcome<bool> has_no_object(values::Context& ctx,
                            const values::Arguments& args);

}  // namespace magneto::natives
