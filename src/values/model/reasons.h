// SPDX-License-Identifier: BSD-3-Clause
// Why a graph breaks: one of the reasons in reasons.def. It is made from the id
// there, which the C++ compiler looks up: an id that isn't there doesn't
// compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace magneto::values {

class Reason {
 public:
  struct Definition {
    const char* id;
    const char* meaning;
    const char* hint;  // what to do where the break has no better one
  };
  static constexpr auto kDefinitions = std::to_array<Definition>({
      {"", "", ""},  // none
#define MG_REASON(id, meaning, hint) {id, meaning, hint},
#include "values/model/reasons.def"
#undef MG_REASON
  });

  constexpr Reason() = default;  // none
  // Implicit, so that a break is written as graph_break("data-dependent", ...).
  consteval Reason(const char* id) : index_(find(id)) {}

  const Definition& definition() const { return kDefinitions[index_]; }
  const char* id() const { return definition().id; }

 private:
  static consteval uint8_t find(std::string_view id) {
    for (size_t i = 0; i < kDefinitions.size(); ++i)
      if (id == kDefinitions[i].id) return static_cast<uint8_t>(i);
    throw "this reason has no row in reasons.def";
  }

  uint8_t index_ = 0;
};

}  // namespace magneto::values
