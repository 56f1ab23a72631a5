// SPDX-License-Identifier: BSD-3-Clause
// torch.nn.attention.flex_attention: what PyTorch has in Python of it is traced
// as any program is, up to the operator, whose two functions become graphs:
//
//   score_mod(score, batch, head, query, key, *taken)  -> score
//   mask_mod(batch, head, query, key, *taken)          -> whether it counts
//
// Their arguments are numbers in tensors without dimensions, with which they
// may index others. PyTorch's TransformGetItemToIndex sees to it that these
// stay tensors; what it does while tracing is ctx.items_by.
#include <algorithm>

#include "natives/higher_order/body.h"
#include "natives/torch/rows.h"
#include "tensor/ambient.h"
#include "values/torch/lowering.h"

namespace magneto::natives {

namespace {

using values::ItemsBy;

constexpr const char* kName = "torch.nn.attention.flex_attention";

Signal refuse(Context& ctx, const std::string& why, const char* hint) {
  return ctx.graph_break("higher-order-body", std::string(kName) + ": " + why,
                         hint);
}

// One of the two functions.
struct Modification {
  Modification(Context& ctx, const char* which)
      : whose(which), body(ctx, std::string(kName) + ": " + which) {}

  const char* whose;
  Body body;

  Status trace(Context& ctx, V function, V query, bool has_score);
};

Status Modification::trace(Context& ctx, V function, V query, bool has_score) {
  std::vector<V> inputs;
  const auto add = [&](Ref fake) -> Status {
    if (!fake) return ctx.raise_from_python();
    inputs.push_back(body.add_input(std::move(fake)));
    return done;
  };
  if (has_score)
    MG_DO(add(call_on_fakes<"torch_flex.score_of">({fake_of(query)})));
  for (int i = 0; i < 4; ++i)
    MG_DO(add(call_on_fakes<"torch_flex.position_of">({fake_of(query)})));
  const ItemsBy before = ctx.items_by.exchange(ItemsBy::PositionLater);
  MG_TRY(V result, body.trace(function, {.positional = inputs}));
  ctx.items_by = before;
  MG_DO(body.expect_no_effects());
  result = ctx.look_symbolic(result);
  if (result->kind != Kind::Tensor || tensor::dim(fake_of(result)) != 0)
    return refuse(ctx, std::string(whose) + " gives " + ctx.describe(result),
                  "let it give a tensor without dimensions");
  MG_TRY(const values::Both output, values::lower(ctx, result, {}));
  body.end(output.arg);
  return done;
}

graph::Arg taken_by(Context& ctx, const Modification& modification) {
  const auto nodes = graph::lifted_operands(modification.body.graph());
  const std::vector<graph::Arg> taken(nodes.begin(), nodes.end());
  return ctx.graph().tuple(taken);
}

// Whether anything that goes in has gradients.
bool is_differentiated(std::span<const V> tensors, const Modification& score) {
  return tensor::grad_mode() && (std::ranges::any_of(tensors, needs_gradient) ||
                                 score.body.takes_gradients());
}

// (operator, query, key, value, score_mod, block_mask, scale, kernel_options)
Outcome<V> flex_attention(Context& ctx, const Arguments& args) {
  std::vector<V> tensors;
  for (V value : args.positional.subspan(1, 3)) {
    tensors.push_back(ctx.look(value));
    if (tensors.back()->kind != Kind::Tensor)
      return refuse(ctx, "it is given " + ctx.describe(value), "pass tensors");
  }
  ctx.guards.ambient(guards::Ambient::GradMode);
  std::vector<V> mask;
  MG_DO(values::unpack(ctx, ctx.look(args.positional[5]), mask));
  Modification score(ctx, "score_mod");
  MG_DO(score.trace(ctx, args.positional[4], tensors[0], true));
  Modification keep(ctx, "mask_mod");
  V keeps = ctx.look(mask.back());
  if (keeps->object == Py_None)
    keeps =
        ctx.known(object_at<"torch.nn.attention.flex_attention.noop_mask">());
  MG_DO(keep.trace(ctx, keeps, tensors[0], false));
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  const graph::NodeId score_mod =
      graph.install(score.body.graph(), "score_mod", origin);
  std::vector<graph::Arg> rest, operands;
  MG_DO(values::lower_each(ctx, std::span(mask).first(mask.size() - 1), rest));
  rest.push_back(graph.install(keep.body.graph(), "mask_fn", origin));
  MG_DO(values::lower_each(ctx, tensors, operands));
  operands.push_back(score_mod);
  operands.push_back(graph.tuple(rest));
  MG_DO(values::lower_each(ctx, args.positional.subspan(6), operands));
  operands.push_back(taken_by(ctx, score));
  operands.push_back(taken_by(ctx, keep));
  Ref fakes = call_on_fakes<"torch_flex.results_of">(
      {fake_of(tensors[0]), fake_of(tensors[2]),
       is_differentiated(tensors, score) ? Py_True : Py_False});
  if (!fakes) return ctx.raise_from_python();
  const graph::NodeId node =
      graph.call_function(object_at<"torch.ops.higher_order.flex_attention">(),
                          operands, {}, fakes.share(), origin);
  return values::value_of_node(ctx, fakes, node);
}

// The stack of modes that see each function of torch's. Of PyTorch's own there
// is one that is known here; others are left to plain Python.
Outcome<V> push_mode(Context& ctx, const Arguments& args) {
  V mode = ctx.look(args.positional[0]);
  const char* const hint = "call it outside of the compiled function";
  if (std::string_view(mode->type->tp_name) != "TransformGetItemToIndex" ||
      ctx.items_by != ItemsBy::Number)
    return ctx.graph_break("native-call",
                           std::string("a mode that sees each function of "
                                       "torch's, ") +
                               mode->type->tp_name,
                           hint);
  ctx.items_by = ItemsBy::Position;
  return ctx.none();
}

Outcome<V> pop_mode(Context& ctx, const Arguments&) {
  if (ctx.items_by != ItemsBy::Position)
    return ctx.graph_break("native-call", "torch._C._pop_torch_function_stack",
                           "call it outside of the compiled function");
  ctx.items_by = ItemsBy::Number;
  return ctx.none();
}

constexpr Row kRows[] = {
    {"torch._higher_order_ops.flex_attention", "FlexAttentionHOP.__call__",
     flex_attention, 8, 8, ""},
    {"torch._C", "_push_on_torch_function_stack", push_mode, 1, 1, nullptr},
    {"torch._C", "_pop_torch_function_stack", pop_mode, 0, 0, nullptr},
};

}  // namespace

std::span<const Row> flex_attention_rows() { return kRows; }

}  // namespace magneto::natives
