// SPDX-License-Identifier: BSD-3-Clause
// How a frame goes on after a graph break: the instruction that runs in plain
// Python, where its ways out lead, and which pieces are cached there.
#pragma once

#include <span>

#include "entry/cache.h"
#include "entry/resume/live_variables.h"
#include "values/model/capture.h"

namespace magneto::entry {

// Of a capture that ended in a break, with the frames of the inlined calls that
// it stands in. `globals`: the outermost frame's; `shapes`: what each frame
// leaves behind, the outermost first.
ResumePoint resume_point(CodeCache& cache, const values::Capture& capture,
                         PyObject* globals, const LiveVariables& slots,
                         std::span<const artifact::FrameShape> shapes);

}  // namespace magneto::entry
