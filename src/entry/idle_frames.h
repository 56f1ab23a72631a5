// SPDX-License-Identifier: BSD-3-Clause
// Frames that plain Python calls and that compute no tensor: bookkeeping, as
// setting an attribute. Plain Python is as good, whatever they are given.
#pragma once

#include <memory>

#include "guards/program.h"
#include "values/model/context.h"

namespace magneto::entry {

// The guards under which another call of such a frame is taken for idle, too.
// They are about what decides in most programs whether there is work: None and
// bools, tensors, and classes of what the call brings and of its attributes;
// not about numbers, texts and what is in containers.
std::unique_ptr<guards::GuardProgram> guards_of_idle_frame(
    const values::Context& ctx);

}  // namespace magneto::entry
