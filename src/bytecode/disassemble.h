// SPDX-License-Identifier: BSD-3-Clause
// Code as text, for logs. Stable: no addresses.
#pragma once

#include <functional>
#include <string>

#include "bytecode/decode.h"

namespace magneto::bytecode {

// What operands stand for; every one may be left empty.
struct Symbols {
  std::function<std::string(int32_t)> constant;  // index in consts -> repr
  std::function<std::string(int32_t)> name;
  std::function<std::string(int32_t)> local;  // localsplus slot
};

// One line for each instruction: index, code unit, line, a mark where jumps
// arrive, name, operand and what it means; the exception table below.
std::string disassemble(const Code& code, const Symbols& symbols = {});

}  // namespace magneto::bytecode
