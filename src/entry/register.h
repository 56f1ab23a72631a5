// SPDX-License-Identifier: BSD-3-Clause
// What entry puts into `magneto._C`, for the module room.
#pragma once

#include "entry/compiler.h"
#include "python/ref.h"

namespace magneto::entry {

// Adds entry's types and functions to the module and connects the frame hook.
// Once a process; set_capture_frame() must be called as well. False with a
// Python error set.
bool register_entry(PyObject* module);

}  // namespace magneto::entry
