// SPDX-License-Identifier: BSD-3-Clause
// Printing, with as few parentheses as Python needs.
#include "shapes/show.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace magneto::shapes {

namespace {

// How tightly an expression binds.
enum Level {
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kSign,
  kPower,
  kAtom
};

struct Text {
  std::string text;
  Level level;
};

// A part of a sum: its text without a sign, and the sign.
struct Part {
  Text text;
  bool is_negative;
  bool is_constant;
};

// Expressions share their parts: written out, they may be exponentially longer.
constexpr size_t kMostParts = 1000;

class Printer {
 public:
  explicit Printer(const SymbolName& name) : name_(name) {}

  std::string at(E e, int level) const { return wrap(print(e), level); }
  // "..." behind so many parts.
  Text print(E e) const {
    return ++printed_ > kMostParts ? Text{"...", kAtom} : print_whole(e);
  }

 private:
  static std::string wrap(const Text& part, int level) {
    return part.level < level ? "(" + part.text + ")" : part.text;
  }
  static Text integer(int64_t value) {
    return {std::to_string(value), value < 0 ? kSign : kAtom};
  }
  static Text magnitude(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    return {std::to_string(value < 0 ? 0 - bits : bits), kAtom};
  }
  Text print_whole(E e) const;
  static Text real(double value);
  Text infix(E e, std::string_view sign, Level level) const;
  Text call(E e) const;
  Text product(std::span<const E> factors) const;
  std::vector<Part> parts(E sum) const;
  static Text sum(const std::vector<Part>& parts);
  Text comparison(E e, const char* sign, const char* mirrored) const;

  const SymbolName& name_;
  mutable size_t printed_ = 0;
};

Text Printer::real(double value) {
  if (std::isnan(value)) return {"float('nan')", kAtom};
  if (std::isinf(value)) {
    return {value < 0 ? "float('-inf')" : "float('inf')", kAtom};
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return {text, std::signbit(value) ? kSign : kAtom};
}

// Operations of two or more, taken from the left.
Text Printer::infix(E e, std::string_view sign, Level level) const {
  std::string text;
  for (size_t i = 0; i < e->operands.size(); ++i) {
    if (i > 0) text.append(" ").append(sign).append(" ");
    text += at(e->operands[i], i > 0 ? level + 1 : level);
  }
  return {text, level};
}

Text Printer::call(E e) const {
  const std::string_view printed = row_of(e->operation).printed;
  std::string text(printed.substr(0, printed.find('(')));
  text += "(";
  for (size_t i = 0; i < e->operands.size(); ++i) {
    if (i > 0) text += ", ";
    text += at(e->operands[i], kOr);
  }
  return {text + ")", kAtom};
}

Text Printer::product(std::span<const E> factors) const {
  if (factors.size() == 1) return print(factors[0]);
  std::string text;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (i > 0) text += " * ";
    text += at(factors[i], i > 0 ? kProduct + 1 : kProduct);
  }
  return {text, kProduct};
}

std::vector<Part> Printer::parts(E e) const {
  std::vector<Part> result;
  const auto add = [&](E part) {
    if (part->is_constant()) {
      const int64_t value = part->value.integer();
      if (value != 0) result.push_back({magnitude(value), value < 0, true});
      return;
    }
    if (part->operation != Operation::Multiply) {
      result.push_back({print(part), false, false});
      return;
    }
    if (!part->operands[0]->is_constant()) {
      result.push_back({product(part->operands), false, false});
      return;
    }
    const int64_t coefficient = part->operands[0]->value.integer();
    const std::span<const E> factors = part->operands.subspan(1);
    Text text = product(factors);
    if (coefficient != 1 && coefficient != -1) {
      text = {magnitude(coefficient).text + " * " +
                  wrap(text, factors.size() > 1 ? kProduct : kProduct + 1),
              kProduct};
    }
    result.push_back({text, coefficient < 0, false});
  };
  if (e->operation == Operation::Add) {
    for (E operand : e->operands) add(operand);
  } else {
    add(e);
  }
  return result;
}

// Begins with a part that has no minus, if there is one.
Text Printer::sum(const std::vector<Part>& parts) {
  if (parts.empty()) return {"0", kAtom};
  size_t first = 0;
  while (first < parts.size() && parts[first].is_negative) ++first;
  if (first == parts.size()) first = 0;
  std::string text;
  if (parts[first].is_negative) {
    text = "-" + wrap(parts[first].text, kProduct);
    if (parts.size() == 1) return {text, kSign};
  } else if (parts.size() == 1) {
    return parts[first].text;
  } else {
    text = wrap(parts[first].text, kSum);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == first) continue;
    text += parts[i].is_negative ? " - " : " + ";
    text += wrap(parts[i].text, kSum + 1);
  }
  return {text, kSum};
}

// sum <sign> 0, with what is negative on the other side.
Text Printer::comparison(E e, const char* sign, const char* mirrored) const {
  const auto join = [](const std::string& a, const char* between,
                       const std::string& b) {
    return Text{a + " " + between + " " + b, kCompare};
  };
  const E left = e->operands[0];
  if (left->type != Type::Integer) {
    return join(at(left, kCompare + 1), sign, at(e->operands[1], kCompare + 1));
  }
  std::vector<Part> positive, negative;
  std::optional<Part> constant;
  for (Part& part : parts(left)) {
    if (part.is_constant) {
      constant = part;
      continue;
    }
    std::vector<Part>& side = part.is_negative ? negative : positive;
    part.is_negative = false;
    side.push_back(std::move(part));
  }
  // With symbols on one side only, the number stands on the other; else it
  // stands where it needs no minus.
  const bool is_mirrored = positive.empty();
  if (is_mirrored) std::swap(positive, negative);
  if (constant) {
    if (negative.empty()) {
      constant->is_negative ^= !is_mirrored;
      negative.push_back(*constant);
    } else {
      const bool left_side = !constant->is_negative;
      constant->is_negative = false;
      (left_side ? positive : negative).push_back(*constant);
    }
  }
  return join(wrap(sum(positive), kCompare + 1), is_mirrored ? mirrored : sign,
              wrap(sum(negative), kCompare + 1));
}

Text Printer::print_whole(E e) const {
  switch (e->operation) {
    case Operation::Constant:
      if (e->type == Type::Boolean) {
        return {e->value.truth() ? "True" : "False", kAtom};
      }
      return e->type == Type::Float ? real(e->value.real())
                                    : integer(e->value.integer());
    case Operation::Symbol:
      return {name_(e->symbol), kAtom};
    case Operation::Add:
      return e->type == Type::Integer ? sum(parts(e)) : infix(e, "+", kSum);
    case Operation::Multiply:
      return e->type == Type::Integer ? sum(parts(e)) : infix(e, "*", kProduct);
    case Operation::FloorDivide:
      return infix(e, "//", kProduct);
    case Operation::Modulo:
      return infix(e, "%", kProduct);
    case Operation::TrueDivide:
      return infix(e, "/", kProduct);
    case Operation::Power:
      return {at(e->operands[0], kAtom) + " ** " + at(e->operands[1], kSign),
              kPower};
    case Operation::BitAnd:
      return infix(e, "&", kBitAnd);
    case Operation::BitOr:
      return infix(e, "|", kBitOr);
    case Operation::BitXor:
      return infix(e, "^", kBitXor);
    case Operation::ShiftLeft:
      return infix(e, "<<", kShift);
    case Operation::ShiftRight:
      return infix(e, ">>", kShift);
    case Operation::Equal:
      return comparison(e, "==", "==");
    case Operation::Less:
      return comparison(e, "<", ">");
    case Operation::LessEqual:
      return comparison(e, "<=", ">=");
    case Operation::And:
      return infix(e, "and", kAnd);
    case Operation::Or:
      return infix(e, "or", kOr);
    case Operation::Not: {
      const E inner = e->operands[0];
      if (inner->operation == Operation::Equal) {
        return comparison(inner, "!=", "!=");
      }
      return {"not " + at(inner, kNot), kNot};
    }
    default:
      return call(e);
  }
}

}  // namespace

std::string show(E e, const SymbolName& name) {
  return Printer(name).at(e, kOr);
}

std::string show(E e) {
  return show(e, [](SymbolId id) { return "s" + std::to_string(id.index); });
}

}  // namespace magneto::shapes
