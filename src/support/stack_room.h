// SPDX-License-Identifier: BSD-3-Clause
// How much of the thread's C stack is left. Python's own calls in plain Python
// need none of it, so that sys.setrecursionlimit() may allow more of them than
// there is room for frames that are traced, or go through the frame hook.
#pragma once

namespace magneto {

// Whether there is enough for what a deep frame may call: operators, backends.
bool has_stack_room() noexcept;

}  // namespace magneto
