// SPDX-License-Identifier: BSD-3-Clause
// Frames that CPython evaluates while somebody is looking at them: those called
// by what a compiled function runs in plain Python.
#pragma once

namespace magneto::entry {

// Connects the frame hook with the driver. Once a process.
void install_frame_handlers() noexcept;

}  // namespace magneto::entry
