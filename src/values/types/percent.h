// SPDX-License-Identifier: BSD-3-Clause
// str % values: printf-style formatting.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// `format` is a constant string; the right operand may be anything.
Outcome<V> percent_format(Context& ctx, V format, V values);

}  // namespace magneto::values
