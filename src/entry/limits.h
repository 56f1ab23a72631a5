// SPDX-License-Identifier: BSD-3-Clause
// How often a frame is compiled: at each point of it for so many guards, and so
// often in all. Behind that it runs in plain Python, and what it calls isn't
// compiled either.
#pragma once

#include "entry/compiler.h"
#include "entry/report.h"

namespace magneto::entry {

// True if another entry may be made; else with what to do instead.
bool may_compile(CodeCache& cache, const python::FrameRequest& request,
                 Compiled* instead);

// Counts a compilation, whatever came of it. Of entries that say that the frame
// raises, some are kept, in favour of those that hit last: calls that fail take
// nothing from the others.
void count_compilation(CodeCache& cache, Compiled compiled);

// Adds `why`, and in `stacks` the place in the program that has asked for each.
void add_why_missed(Details& details, CodeCache& cache,
                    const python::FrameRequest& request);

}  // namespace magneto::entry
