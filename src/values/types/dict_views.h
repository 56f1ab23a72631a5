// SPDX-License-Identifier: BSD-3-Clause
// Views of dicts, and proxies that show one: objects whose slot 0 is the dict.
#pragma once

#include <string_view>

#include "values/model/context.h"

namespace magneto::values {

// The view that dict.keys, values or items (by name) gives.
V dict_view(Context& ctx, V dict, std::string_view method);

}  // namespace magneto::values
