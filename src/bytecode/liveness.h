// SPDX-License-Identifier: BSD-3-Clause
// Which locals may still be read. A graph break keeps these and drops the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/decode.h"

namespace magneto::bytecode {

// For every instruction, the set of localsplus slots that some way onward may
// read before it writes them. A cell counts as a slot of its own: it is live
// where the cell (not only its value) is needed. Edges to exception handlers
// are taken from every instruction that they cover.
//
// What reads locals without saying so in bytecode (locals(), a zero-argument
// super(), a debugger) isn't seen: give such slots as `pinned`.
class Liveness {
 public:
  explicit Liveness(const Code& code, std::span<const int32_t> pinned = {});

  // Live on entry of instruction `index`.
  bool is_live(int32_t index, int32_t local) const {
    return (word(index, local / 64) >> (local % 64)) & 1;
  }
  // The same as a list, ascending.
  std::vector<int32_t> live_at(int32_t index) const;

 private:
  uint64_t word(int32_t index, int32_t w) const {
    return live_[static_cast<size_t>(index) * words_ + w];
  }
  size_t words_;  // 64-bit words per instruction
  std::vector<uint64_t> live_;
};

}  // namespace magneto::bytecode
