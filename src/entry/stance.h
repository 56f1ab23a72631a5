// SPDX-License-Identifier: BSD-3-Clause
// torch.compiler.set_stance: what the whole process does with compiled
// functions for now.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace magneto::entry {

enum class Stance : uint8_t {
  Default,
  ForceEager,        // plain Python, whatever was compiled
  EagerOnRecompile,  // plain Python where nothing that was compiled fits
  FailOnRecompile,   // an error there
  EagerThenCompile,  // plain Python at the first call, compiled at the second
};

// Guarded by the GIL. Read by each call.
inline Stance stance = Stance::Default;

// What programs call them.
std::vector<std::string_view> stance_names();
// The stance that programs call so; nothing if there is none.
std::optional<Stance> stance_named(std::string_view name) noexcept;

}  // namespace magneto::entry
