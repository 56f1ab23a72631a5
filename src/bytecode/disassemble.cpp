// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/disassemble.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace magneto::bytecode {
namespace {

constexpr std::array<std::string_view, 26> kBinaryOperators = {
    "+",  "&",  "//", "<<",  "@",   "*",  "%",   "|",   "**",
    ">>", "-",  "/",  "^",   "+=",  "&=", "//=", "<<=", "@=",
    "*=", "%=", "|=", "**=", ">>=", "-=", "/=",  "^="};
constexpr std::array<std::string_view, 6> kComparisons = {
    "<", "<=", "==", "!=", ">", ">="};

std::string symbol(const std::function<std::string(int32_t)>& symbols,
                   int32_t index) {
  return symbols ? symbols(index) : std::string();
}

// What a Kind operand stands for.
std::string kind(const Instruction& instruction) {
  const auto arg = static_cast<size_t>(instruction.arg);
  switch (instruction.op) {
    case Op::BinaryOp:
      return arg < kBinaryOperators.size() ? std::string(kBinaryOperators[arg])
                                           : std::string();
    case Op::CompareOp:
      return arg < kComparisons.size() ? std::string(kComparisons[arg])
                                       : std::string();
    case Op::IsOp:
      return arg ? "is not" : "is";
    case Op::ContainsOp:
      return arg ? "not in" : "in";
    default:
      return {};
  }
}

std::string meaning(const Instruction& instruction, const Symbols& symbols) {
  switch (info(instruction.op).operand) {
    case OperandKind::Const:
      return symbol(symbols.constant, instruction.arg);
    case OperandKind::Name:
      return symbol(symbols.name, instruction.arg);
    case OperandKind::Local:
      return symbol(symbols.local, instruction.arg);
    case OperandKind::Kind:
      return kind(instruction);
    case OperandKind::Count:
      // A call's keyword names.
      return instruction.aux >= 0 ? symbol(symbols.constant, instruction.aux)
                                  : std::string();
    case OperandKind::Target:
    case OperandKind::None:
      return {};
  }
  return {};
}

std::string operand(const Instruction& instruction, const Symbols& symbols) {
  const OperandKind operand_kind = info(instruction.op).operand;
  if (operand_kind == OperandKind::None) return {};
  if (operand_kind == OperandKind::Target) {
    return fmt::format(
        "to {}{}", instruction.arg,
        instruction.aux == kNoInterruptCheck ? " (no interrupt check)" : "");
  }
  const std::string text = meaning(instruction, symbols);
  if (text.empty()) return fmt::format("{}", instruction.arg);
  return fmt::format("{} ({})", instruction.arg, text);
}

}  // namespace

std::string disassemble(const Code& code, const Symbols& symbols) {
  std::vector<bool> is_target(code.instructions.size());
  for (const Instruction& instruction : code.instructions) {
    if (info(instruction.op).jumps) {
      is_target[static_cast<size_t>(instruction.arg)] = true;
    }
  }
  for (const Handler& handler : code.handlers) {
    is_target[static_cast<size_t>(handler.target)] = true;
  }
  std::string out;
  auto end = std::back_inserter(out);
  int32_t line = -1;
  for (int32_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code[i];
    const int32_t own_line = code.position(i).line;
    const bool new_line = own_line != line;
    line = own_line;
    std::string line_text;
    if (new_line) line_text = line < 0 ? "-" : fmt::format("{}", line);
    std::string row = fmt::format(
        "{:>5} {:>3} {:>4} @{:<5} {:<18} {}", line_text,
        is_target[static_cast<size_t>(i)] ? ">>" : "", i, instruction.offset,
        info(instruction.op).name, operand(instruction, symbols));
    row.erase(row.find_last_not_of(' ') + 1);
    fmt::format_to(end, "{}\n", row);
  }
  if (!code.handlers.empty()) out += "exceptions:\n";
  for (const Handler& handler : code.handlers) {
    fmt::format_to(end, "  {} to {} -> {} [{}]{}\n", handler.start,
                   handler.end - 1, handler.target, handler.depth,
                   handler.push_lasti ? " lasti" : "");
  }
  return out;
}

}  // namespace magneto::bytecode
