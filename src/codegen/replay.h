// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "codegen/rebuilder.h"

namespace magneto::codegen {

// Replays what was written to the caller's objects, in order: each is written
// once, with what it holds in the end.
void replay_effects(values::Context& ctx, Rebuilder& rebuilder,
                    ProgramBuilder& builder);

}  // namespace magneto::codegen
