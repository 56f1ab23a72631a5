// SPDX-License-Identifier: BSD-3-Clause
// What entry counts, for magneto.stats().
#pragma once

#include <cstdint>

namespace magneto::entry {

struct Counters {
  int64_t compilations = 0;  // frames traced, whatever came of it
  int64_t graphs = 0;        // given to a backend
  int64_t graph_breaks = 0;  // entries that end with one
  int64_t recompiles = 0;    // compilations where the cache had entries
  int64_t skips = 0;         // frames that run in plain Python, with a reason
  int64_t internal_errors = 0;
};

inline Counters& counters() {
  static Counters counters;  // guarded by the GIL
  return counters;
}

}  // namespace magneto::entry
