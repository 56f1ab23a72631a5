// SPDX-License-Identifier: BSD-3-Clause
// The two side tables of a CPython 3.11 code object: exception table and line
// table. Offsets are in code units.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/version.h"

namespace magneto::bytecode::v311 {

std::vector<RawHandler> read_handlers(std::span<const uint8_t> table);
void write_handler(const RawHandler& handler, std::vector<uint8_t>& table);

std::vector<LineEntry> read_lines(std::span<const uint8_t> table, int32_t line);
std::vector<uint8_t> write_lines(std::span<const LineEntry> entries,
                                 int32_t line);

}  // namespace magneto::bytecode::v311
