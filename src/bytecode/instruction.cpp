// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/instruction.h"

#include <algorithm>
#include <iterator>

namespace magneto::bytecode {

const Handler* find_handler(std::span<const Handler> handlers, int32_t index) {
  auto after = std::upper_bound(
      handlers.begin(), handlers.end(), index,
      [](int32_t i, const Handler& handler) { return i < handler.start; });
  if (after == handlers.begin()) return nullptr;
  const Handler& handler = *std::prev(after);
  return index < handler.end ? &handler : nullptr;
}

}  // namespace magneto::bytecode
