// SPDX-License-Identifier: BSD-3-Clause
// Where a graph breaks inside of `with torch.no_grad()`, torch.inference_mode()
// or torch.autocast, the graph leaves what it has entered, since backends don't
// carry a changed state out of a graph; the artifact enters it again, as it
// does with torch.device. Where a torch.autocast is left that was entered
// before the graph, the graph enters the state outside of it for what follows,
// and the artifact leaves the autocast.
#pragma once

#include "values/construction.h"
#include "values/context.h"

namespace magneto::natives {

// The thread's state when a trace began.
struct StateAtStart {
  uint64_t autograd;

  bool grad_mode() const;
  static StateAtStart now();
};

// The objects of torch.inference_mode that the graph has entered and not left,
// outermost first.
std::vector<values::V> entered_inference_modes(values::Context& ctx);

// The node that has entered the innermost torch.inference_mode or
// torch.autocast that the graph is in; invalid if it is in none. An inference
// mode that ends puts back what autocast was when it began, so that they have
// to be left in order.
graph::NodeId innermost_entered(values::Context& ctx);

// Whether the node that has entered `manager` is among them.
bool is_entered(values::Context& ctx, values::V manager);

// Records that a torch.autocast of the caller's is left: what _enter_autocast
// is given to enter the state outside of it.
void enter_outside_of(values::Context& ctx, values::V autocast,
                      std::span<const graph::Arg> outside);

// Records the calls that put the thread's state back to what it was when the
// trace began, and returns those that bring it to what it is now; nothing if
// it can't be handed over.
std::optional<std::vector<values::Construction>> close_states(
    values::Context& ctx, const StateAtStart& start);

// The same at the end of the frame, where a graph may leave what it has entered
// to its caller: only of torch.autocasts of the caller's that were left.
std::optional<std::vector<values::Construction>> close_left_autocasts(
    values::Context& ctx, const StateAtStart& start);

}  // namespace magneto::natives
