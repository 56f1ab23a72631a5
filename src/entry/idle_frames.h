// SPDX-License-Identifier: BSD-3-Clause
// Frames that plain Python calls and that compute no tensor: bookkeeping, as
// setting an attribute. Plain Python is as good, whatever they are given.
#pragma once

#include <memory>

#include "guards/program.h"
#include "values/model/context.h"

namespace magneto::entry {

// When another call of such a frame is taken for one, too: where what decides
// about work in most programs is the same. That are None and the bools, the
// tensors and the classes of what the call brings and of its attributes; not
// numbers, texts, and what is in containers.
std::unique_ptr<guards::GuardProgram> guards_of_idle_frame(
    const values::Context& ctx);

}  // namespace magneto::entry
