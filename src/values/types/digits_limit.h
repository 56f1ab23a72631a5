// SPDX-License-Identifier: BSD-3-Clause
// Python can be told to refuse texts of numbers with many digits, and numbers
// that are written with so many: sys.set_int_max_str_digits().
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// The limit may decide about the text of this object, or about the number that
// it is read as.
void guard_digits_limit(Context& ctx, PyObject* object);

// What the program has set it to.
int64_t digits_limit() noexcept;

}  // namespace magneto::values
