// SPDX-License-Identifier: BSD-3-Clause
// Python can be told to refuse texts of numbers with many digits, and numbers
// that are written with so many: sys.set_int_max_str_digits().
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// Guards the limit if the object is a number or text so long that it may be
// over it, or a tuple with one.
void guard_digits_limit(Context& ctx, PyObject* object);

// The limit as it is now.
int64_t digits_limit() noexcept;

}  // namespace magneto::values
