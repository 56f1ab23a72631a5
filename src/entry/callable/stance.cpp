// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/stance.h"

#include <algorithm>
#include <iterator>

namespace magneto::entry {
namespace {

struct Name {
  std::string_view text;
  Stance stance;
};
constexpr Name kNames[] = {
    {"default", Stance::Default},
    {"force_eager", Stance::ForceEager},
    {"eager_on_recompile", Stance::EagerOnRecompile},
    {"fail_on_recompile", Stance::FailOnRecompile},
    {"eager_then_compile", Stance::EagerThenCompile},
    {"in_place", Stance::InPlace},
};

}  // namespace

std::optional<Stance> stance_named(std::string_view name) noexcept {
  const Name* found = std::ranges::find(kNames, name, &Name::text);
  if (found == std::end(kNames)) return std::nullopt;
  return found->stance;
}

}  // namespace magneto::entry
