// SPDX-License-Identifier: BSD-3-Clause
#include "values/mapping_proxies.h"

namespace magneto::values {

V mapping_proxy(Context& ctx, V mapping) {
  return ctx.iterator(&PyDictProxy_Type, {&mapping, 1}, 0, Kind::Object);
}

V shown_mapping(const Context& ctx, V proxy) {
  return proxy->heap.valid() ? ctx.heap[proxy->heap].slots[0] : nullptr;
}

}  // namespace magneto::values
