// SPDX-License-Identifier: BSD-3-Clause
// 32-bit indices that can't be mixed up: StrongId<struct NodeTag> and
// StrongId<struct SourceTag> are different types.
#pragma once

#include <cstdint>
#include <functional>

namespace magneto {

template <class Tag>
struct StrongId {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;  // kNone: refers to nothing

  constexpr StrongId() = default;
  constexpr explicit StrongId(size_t i) : index(static_cast<uint32_t>(i)) {}
  constexpr bool valid() const { return index != kNone; }
  friend constexpr bool operator==(StrongId, StrongId) = default;
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

}  // namespace magneto

template <class Tag>
struct std::hash<magneto::StrongId<Tag>> {
  size_t operator()(magneto::StrongId<Tag> id) const noexcept {
    return std::hash<uint32_t>{}(id.index);
  }
};
