// SPDX-License-Identifier: BSD-3-Clause
// All that a trace knows as text, to check that a rollback gives back what was
// there.
#pragma once

#include <string>

#include "values/model/context.h"

namespace magneto::values {

// Equal for two states of one trace exactly if nothing that the trace goes on
// with tells them apart. Runs no user code.
std::string dump(Context& ctx);

}  // namespace magneto::values
