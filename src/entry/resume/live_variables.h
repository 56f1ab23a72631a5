// SPDX-License-Identifier: BSD-3-Clause
// Which of a frame's variables are handed on at a graph break.
#pragma once

#include <vector>

#include "values/model/capture.h"
#include "values/model/context.h"

namespace magneto::entry {

// Slots in localsplus, in order: a list for the outermost frame, then one for
// each frame inside. Empty where the graph doesn't break.
struct LiveVariables {
  std::vector<std::vector<int32_t>> live;
  // Those of them whose object the program may see die: it must live as long as
  // the variable, whether or not this is read again.
  std::vector<std::vector<int32_t>> kept;
  // Those of the kept ones without finalizers: the driver holds their objects,
  // and no piece begins with them (held_variables.h).
  std::vector<std::vector<int32_t>> held;
  // The objects of other variables, which are dropped on one of the ways after
  // the break.
  std::vector<values::V> dropped;
  // Whether the frames hold all inference modes that are entered again after
  // the break. One that nothing holds has died, which ends it.
  bool hold_inference_modes = true;
  // False if the graph breaks inside of a call whose operands C code would hold
  // to the call's end, and the program may see one of them die.
  bool hold_operands = true;
};

LiveVariables live_variables(const values::Context& ctx, PyCodeObject* code,
                             const values::Capture& capture);

// Guards that what is dropped has no finalizers, nor has what it holds of the
// values that the frame began with.
void guard_dropped(values::Context& ctx, const LiveVariables& slots);

}  // namespace magneto::entry
