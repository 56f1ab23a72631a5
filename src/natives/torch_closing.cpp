// SPDX-License-Identifier: BSD-3-Clause
#include "natives/torch_closing.h"

#include <algorithm>

#include "natives/torch_objects.h"
#include "tensor/ambient.h"

namespace magneto::natives {

using values::Construction;
using values::V;

namespace {

// Nodes that enter an autocast which no node leaves, outermost first.
std::vector<graph::NodeId> open_autocasts(const graph::Graph& graph) {
  const TorchObjects& torch = torch_objects();
  std::vector<graph::NodeId> open;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const graph::NodeId id{i};
    const graph::Node& node = graph.node(id);
    if (node.op != graph::Op::CallFunction) continue;
    if (node.target.get() == torch.enter_autocast) open.push_back(id);
    if (node.target.get() == torch.exit_autocast)
      std::erase(open, node.args[0].node());
  }
  return open;
}

}  // namespace

std::vector<Construction> close_states(values::Context& ctx,
                                       bool grad_mode_at_start) {
  const TorchObjects& torch = torch_objects();
  const std::vector<graph::NodeId> open = open_autocasts(ctx.graph);
  std::vector<Construction> again;
  for (graph::NodeId id : open) {
    Construction call{ctx.constant_share(torch.enter_autocast), {}};
    for (const graph::Arg& arg : ctx.graph.node(id).args)
      call.positional.push_back(ctx.constant_share(arg.constant()));
    again.push_back(std::move(call));
  }
  const graph::Origin origin = ctx.inliner->origin();
  for (size_t i = open.size(); i-- > 0;)
    ctx.graph.call_function(torch.exit_autocast, {open[i]}, {}, {}, origin);

  const bool grad_mode = tensor::grad_mode();
  if (grad_mode != grad_mode_at_start) {
    V before = ctx.boolean(grad_mode_at_start);
    ctx.graph.call_function(torch.set_grad_enabled,
                            {ctx.graph.constant(before->object)}, {}, {},
                            origin);
    again.push_back(
        {ctx.constant_share(torch.set_grad_enabled), {ctx.boolean(grad_mode)}});
  }
  return again;
}

}  // namespace magneto::natives
