// SPDX-License-Identifier: BSD-3-Clause
// Raw bytecode for tests, written unit by unit.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/v311/raw.h"

namespace magneto::bytecode {

using v311::RawOp;

class RawFixture {
 public:
  // An opcode with its operand; inline caches follow by themselves, with
  // rubbish in them as in code that has run.
  RawFixture& op(RawOp raw, int32_t arg = 0) {
    return number(static_cast<uint8_t>(raw), arg);
  }
  RawFixture& number(uint8_t raw, int32_t arg = 0) {
    unit(raw, arg);
    for (int i = 0; i < v311::kRawInfo[raw].caches; ++i) unit(17, 99);
    return *this;
  }
  RawFixture& unit(uint8_t raw, int32_t arg) {
    bytes.push_back(raw);
    bytes.push_back(static_cast<uint8_t>(arg));
    return *this;
  }

  RawCode raw() const {
    RawCode code;
    code.bytecode = bytes;
    code.exception_table = exception_table;
    code.line_table = line_table;
    code.first_line = 1;
    code.local_count = 8;
    return code;
  }
  Code decoded() const { return decode(running_version(), raw()); }

  std::vector<uint8_t> bytes;
  std::vector<uint8_t> exception_table;
  std::vector<uint8_t> line_table;
};

// A Code without raw bytes, for what looks only at canonical instructions.
inline Code code_of(std::initializer_list<Instruction> instructions,
                    std::initializer_list<Handler> handlers = {}) {
  Code code;
  code.instructions = instructions;
  code.handlers = handlers;
  code.local_count = 8;
  return code;
}

}  // namespace magneto::bytecode
