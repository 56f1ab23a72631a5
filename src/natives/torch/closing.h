// SPDX-License-Identifier: BSD-3-Clause
// Where a graph breaks inside of `with torch.no_grad()`, torch.inference_mode()
// or torch.autocast, the graph leaves what it has entered, since backends don't
// carry a changed state out of a graph; the artifact enters it again, as it
// does with torch.device. Where a torch.autocast is left that was entered
// before the graph, the graph enters the state outside of it for what follows,
// and the artifact leaves the autocast. Kernels of attention that a graph has
// chosen it puts back, and the artifact chooses them.
#pragma once

#include "values/model/construction.h"
#include "values/model/context.h"

namespace magneto::natives {

// The thread's state when a trace began.
struct StateAtStart {
  uint64_t autograd;
  uint64_t attention;

  bool grad_mode() const;
  static StateAtStart now();
};

// The objects of torch.inference_mode that the graph has entered and not left,
// outermost first.
std::vector<values::V> entered_inference_modes(values::Context& ctx);

// Records that `manager` enters a context, or is left for the state outside of
// it: a call of torch's function for that.
graph::NodeId enter_context(values::Context& ctx, values::V manager,
                            values::EnteredContext::Kind kind,
                            std::span<const graph::Arg> args);

// Records that the innermost one is left; there must be one.
void leave_context(values::Context& ctx);

// Whether the graph is in a context that it has entered; states outside of the
// caller's torch.autocasts don't count.
bool has_entered(values::Context& ctx);

// Whether it is in one that `manager` has entered, and whether that is the
// innermost. An inference mode that ends puts back what autocast was when it
// began, so that they have to be left in order.
bool is_entered(values::Context& ctx, values::V manager);
bool is_innermost_entered(values::Context& ctx, values::V manager);

// Records the calls that put the thread's state back to what it was when the
// trace began, and returns those that bring it to what it is now; nothing if
// it can't be handed over.
std::optional<std::vector<values::Construction>> close_states(
    values::Context& ctx, const StateAtStart& start);

// The same at the end of the frame, but for a grad mode that its caller gets
// from the graph.
std::optional<std::vector<values::Construction>> close_for_caller(
    values::Context& ctx, const StateAtStart& start);

}  // namespace magneto::natives
