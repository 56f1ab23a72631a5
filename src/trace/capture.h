// SPDX-License-Identifier: BSD-3-Clause
// The driver: traces one frame from where it stands to its end, or to the first
// instruction that has no meaning here.
#pragma once

#include "python/frame.h"
#include "values/model/capture.h"

namespace magneto::trace {

// Nothing of the user's is changed: no object is written, no user code runs,
// the RNG stands still, grad mode and the like are as before on return. With
// Ending::Skip a Python error may be set (KeyboardInterrupt), which the caller
// must let through. Throws InternalError on a defect of ours.
values::Capture capture_frame(values::Context& ctx,
                              const python::FrameRequest& request,
                              const values::CanLeave& can_leave);

}  // namespace magneto::trace
