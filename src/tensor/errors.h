// SPDX-License-Identifier: BSD-3-Clause
// The way out for what fake tensors can't answer.
#pragma once

#include <c10/core/SymInt.h>

#include <string>

namespace magneto::tensor {

// Throws the exception that Python sees as needs_data_error(). Takes the GIL
// if the thread doesn't hold it.
[[noreturn]] void throw_needs_data(const std::string& message);
// The same with refused_error().
[[noreturn]] void throw_refused(const std::string& message);

// The product of two sizes; refuses what 64 bits don't hold.
c10::SymInt multiplied(const c10::SymInt& a, const c10::SymInt& b);

}  // namespace magneto::tensor
