// SPDX-License-Identifier: BSD-3-Clause
// Why a graph ends: a row of reasons.def. Made of the row's id, which is looked
// up while compiling, so an id without a row doesn't compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace magneto::values {

class Reason {
 public:
  struct Row {
    const char* id;
    const char* meaning;
    const char* hint;  // what to do where the break has no better one
  };
  static constexpr auto kRows = std::to_array<Row>({
      {"", "", ""},  // none
#define MG_REASON(id, meaning, hint) {id, meaning, hint},
#include "values/model/reasons.def"
#undef MG_REASON
  });

  constexpr Reason() = default;  // none
  // Implicit, so that a break is written as graph_break("data-dependent", ...).
  consteval Reason(const char* id) : row_(find(id)) {}

  const Row& row() const { return kRows[row_]; }
  const char* id() const { return row().id; }

 private:
  static consteval uint8_t find(std::string_view id) {
    for (size_t i = 0; i < kRows.size(); ++i)
      if (id == kRows[i].id) return static_cast<uint8_t>(i);
    throw "this reason has no row in reasons.def";
  }

  uint8_t row_ = 0;
};

}  // namespace magneto::values
