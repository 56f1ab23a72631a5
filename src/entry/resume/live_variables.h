// SPDX-License-Identifier: BSD-3-Clause
// Which of a frame's variables are handed on at a graph break.
#pragma once

#include <vector>

#include "values/model/capture.h"
#include "values/model/context.h"

namespace magneto::entry {

// Slots in localsplus, in order; of the outermost frame, then of those inside.
// Empty where the graph doesn't break.
struct LiveVariables {
  std::vector<std::vector<int32_t>> live;
  // Those of them in which somebody may see an object die: it lives as long as
  // the variable does, read again or not.
  std::vector<std::vector<int32_t>> kept;
  // Those of the kept ones whose objects do nothing when they die: who runs the
  // pieces holds them, and no piece begins with them (held_variables.h).
  std::vector<std::vector<int32_t>> held;
  // The objects of other variables that are let go of on one of the ways after
  // the break.
  std::vector<values::V> let_go;
  // Whether the frames hold all inference modes that are entered again after
  // the break. One that nobody holds has died, and so has ended.
  bool hold_inference_modes = true;
  // Whether nothing that is seen to die is among the operands of a call that
  // the graph breaks inside of and that C code would hold to its end.
  bool hold_operands = true;
};

LiveVariables live_variables(const values::Context& ctx, PyCodeObject* code,
                             const values::Capture& capture);

// Guards that nothing happens when what they let go of dies, nor what the frame
// began with and that holds.
void guard_let_go(values::Context& ctx, const LiveVariables& slots);

}  // namespace magneto::entry
