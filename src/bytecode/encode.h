// SPDX-License-Identifier: BSD-3-Clause
// From canonical instructions back to what a version of CPython runs: bytecode
// with inline caches, the exception table and the line table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/instruction.h"

namespace magneto::bytecode {

struct EncodedCode {
  std::vector<uint8_t> bytecode;
  std::vector<uint8_t> exception_table;
  std::vector<uint8_t> line_table;
  int32_t first_line = 1;
  int32_t stack_size = 0;
};

// `positions` speak of `instructions`; `handlers` are sorted by start and
// disjoint. Jump operands are instruction indices; EXTENDED_ARG prefixes and
// the forward or backward form of each jump are chosen here. Throws
// InternalError for what the version can't express (a backward FOR_ITER, for
// example).
EncodedCode encode(const VersionTable& version,
                   std::span<const Instruction> instructions,
                   const PositionTable& positions,
                   std::span<const Handler> handlers, int32_t first_line);

// `more` after the whole of `code`, whose units stay what they are. Only
// `more` has handlers. `code.bytecode` isn't quickened.
EncodedCode join(const VersionTable& version, const RawCode& code,
                 const EncodedCode& more);

}  // namespace magneto::bytecode
