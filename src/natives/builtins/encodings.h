// SPDX-License-Identifier: BSD-3-Clause
// Text to bytes and back.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// Breaks the graph unless C code encodes or decodes by what is given as
// `encoding` and `errors`: at these names, or in the second and third place.
Status check_encoding(Context& ctx, const Arguments& args);

}  // namespace magneto::natives
