// SPDX-License-Identifier: BSD-3-Clause
// types.MappingProxyType: a view of a mapping that can't be written through,
// which answers for it (natives/mapping_proxies.cpp).
#pragma once

#include "values/context.h"

namespace magneto::values {

// Such a view; slots[0] of its state is the mapping.
V mapping_proxy(Context& ctx, V mapping);

// The mapping that it shows; null for a class's namespace, which is a constant.
V shown_mapping(const Context& ctx, V proxy);

}  // namespace magneto::values
