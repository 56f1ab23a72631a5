// SPDX-License-Identifier: BSD-3-Clause
// torch.compiler.set_stance: what the whole process does with compiled
// functions for now.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace magneto::entry {

enum class Stance : uint8_t {
  Default,
  ForceEager,        // plain Python, whatever was compiled
  EagerOnRecompile,  // plain Python where nothing that was compiled fits
  FailOnRecompile,   // an error there
  EagerThenCompile,  // plain Python at the first call, compiled at the second
  InPlace,  // as another compiled function: magneto.stances.in_place_of
};

// Guarded by the GIL. Read by each call.
inline Stance stance = Stance::Default;

// By the name that magneto.stances has for it; nothing if there is none.
std::optional<Stance> stance_named(std::string_view name) noexcept;

}  // namespace magneto::entry
