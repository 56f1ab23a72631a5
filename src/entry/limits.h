// SPDX-License-Identifier: BSD-3-Clause
// How often a frame is compiled: at each point of it for so many guards, and so
// often in all. Beyond that it runs in plain Python, and what it calls isn't
// compiled either.
#pragma once

#include "entry/compiler.h"

namespace magneto::entry {

struct Limit {
  const char* setting = nullptr;  // of magneto.config; null: none is reached
  int64_t count = 0;
  bool is_of_frame = false;      // of all its points
  bool costs_something = false;  // tensors were computed there
};
Limit reached_limit(CodeCache& cache);
// Whether the user is told of it now: once.
bool note_reported(CodeCache& cache, const Limit& reached);

// Counts a compilation, whatever came of it. Of entries that say that the frame
// raises, some are kept, in favour of those that hit last: calls that fail take
// nothing from the others.
void count_compilation(CodeCache& cache, Compiled compiled);

}  // namespace magneto::entry
