// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a call that nothing compiled so far fits: whether something
// may be compiled for it, as limits, settings and the stance say.
#pragma once

#include <optional>

#include "entry/cache.h"
#include "entry/compiler.h"
#include "entry/report/report.h"
#include "python/frame.h"

namespace magneto::entry {

// None if another entry may be made; else what to do instead.
std::optional<Compiled> instead_of_compiling(
    CodeCache& cache, const python::FrameRequest& request);

// Adds `why`, and in `stacks` the place in the program that has asked for each.
void add_why_missed(Details& details, CodeCache& cache,
                    const python::FrameRequest& request);

}  // namespace magneto::entry
