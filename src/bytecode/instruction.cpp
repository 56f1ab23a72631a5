// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/instruction.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace magneto::bytecode {
namespace {

constexpr uint8_t J = 1, T = 2, R = 4;

constexpr OpInfo make_info(std::string_view name, Operand operand,
                           uint8_t flags) {
  return {name, operand, (flags & J) != 0, (flags & T) != 0, (flags & R) != 0};
}

constexpr std::array<OpInfo, kOpCount> kInfo{{
#define MG_OP(name, operand, flags) make_info(#name, Operand::operand, flags),
#include "bytecode/ops.def"
#undef MG_OP
}};

}  // namespace

const OpInfo& info(Op op) { return kInfo[static_cast<size_t>(op)]; }

const Handler* find_handler(std::span<const Handler> handlers, int32_t index) {
  auto after = std::upper_bound(
      handlers.begin(), handlers.end(), index,
      [](int32_t i, const Handler& handler) { return i < handler.start; });
  if (after == handlers.begin()) return nullptr;
  const Handler& handler = *std::prev(after);
  return index < handler.end ? &handler : nullptr;
}

}  // namespace magneto::bytecode
