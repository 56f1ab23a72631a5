// SPDX-License-Identifier: BSD-3-Clause
// torch.cond: where only data decide, both branches become graphs, and the
// operator runs one of them. A predicate that is known while tracing, or that a
// guard decides, takes its branch there and then.
#include <algorithm>

#include "natives/higher_order/body.h"
#include "natives/higher_order/tree.h"
#include "natives/signature.h"
#include "natives/torch/rows.h"
#include "tensor/ambient.h"
#include "values/protocol/symbolic.h"

namespace magneto::natives {

namespace {

Signal refuse(Context& ctx, const std::string& why, const char* hint) {
  return ctx.graph_break("higher-order-body", "torch.cond: " + why, hint);
}

// A branch, traced.
struct Branch {
  Branch(Context& ctx, const char* which)
      : whose(which), body(ctx, std::string("torch.cond: ") + which) {}

  const char* whose;
  Body body;
  Tree output = {};
  V result = nullptr;
};

// What the operator can't give: something from outside, or a view of such; one
// tensor twice.
Status expect_own(Context& ctx, const Branch& branch) {
  const std::vector<V> tensors = branch.output.tensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!branch.body.is_new(tensors[i], std::span(tensors).first(i)))
      return refuse(ctx,
                    branch.output.leaves[i].path + " of " + branch.whose +
                        " is an operand, or shares memory with one or with "
                        "another output",
                    "return a clone()");
  return done;
}

Status trace_branch(Context& ctx, V function, std::span<const V> operands,
                    Branch& branch) {
  MG_TRY(branch.result, branch.body.trace(function, {.positional = operands}));
  MG_DO(branch.body.expect_no_effects());
  if (!flatten(ctx, branch.result, branch.output))
    return refuse(ctx, branch.output.form + " in " + branch.whose,
                  "return tensors, ints and None, in tuples, lists and dicts");
  MG_DO(expect_own(ctx, branch));
  branch.body.end(branch.output.tensors());
  return done;
}

Status expect_alike(Context& ctx, const Branch& first, const Branch& second) {
  if (!first.output.has_form_of(second.output))
    return refuse(ctx,
                  std::string(first.whose) + " gives " + first.output.form +
                      ", " + second.whose + " gives " + second.output.form,
                  "let both give the same containers");
  for (size_t i = 0; i < first.output.leaves.size(); ++i) {
    const auto& [tensor, path] = first.output.leaves[i];
    const std::string differ =
        difference(ctx, tensor, second.output.leaves[i].tensor);
    if (differ.empty()) continue;
    std::string why = path;
    why += " of the two branches: ";
    why += differ;
    return refuse(ctx, why, "let both give tensors that are alike");
  }
  return done;
}

// The operator's outputs need gradients if any operand does.
Status expect_gradients(Context& ctx, const Branch& branch,
                        std::span<const graph::NodeId> operands) {
  const bool any =
      tensor::grad_mode() && std::ranges::any_of(operands, [&](auto id) {
        PyObject* fake = ctx.graph().node(id).example;
        return tensor::is_tensor(fake) && tensor::requires_grad(fake);
      });
  for (const auto& [leaf, path] : branch.output.leaves)
    if (tensor::can_require_grad(fake_of(leaf)) &&
        tensor::requires_grad(fake_of(leaf)) != any)
      return refuse(ctx,
                    path + (any ? " has no gradient, though an operand has"
                                : " has a gradient, though no operand has"),
                    "detach() it behind the call");
  return done;
}

Outcome<V> record(Context& ctx, V predicate, V on_true, V on_false,
                  std::span<const V> operands) {
  Branch first(ctx, "the true branch");
  MG_DO(trace_branch(ctx, on_true, operands, first));
  Branch second(ctx, "the false branch");
  MG_DO(trace_branch(ctx, on_false, operands, second));
  MG_DO(expect_alike(ctx, first, second));
  graph::Graph* bodies[] = {&first.body.graph(), &second.body.graph()};
  const std::vector<graph::NodeId> shared = graph::share_operands(bodies);
  MG_DO(expect_gradients(ctx, first, shared));
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  const graph::NodeId truth = ctx.tracer.lift(ctx.heap[predicate->heap].node);
  const graph::NodeId reads[] = {
      graph.install(first.body.graph(), "cond_true", origin),
      graph.install(second.body.graph(), "cond_false", origin)};
  const std::vector<graph::Arg> inputs(shared.begin(), shared.end());
  const std::vector<V> tensors = first.output.tensors();
  const graph::NodeId node =
      graph.call_function(object_at<"torch.ops.higher_order.cond">(),
                          {truth, reads[0], reads[1], graph.tuple(inputs)}, {},
                          fakes_of(tensors), origin);
  become_items(ctx, node, tensors);
  return first.result;
}

Outcome<V> cond(Context& ctx, const Arguments& args) {
  V predicate = argument(args, 0, name<"pred">());
  V on_true = argument(args, 1, name<"true_fn">());
  V on_false = argument(args, 2, name<"false_fn">());
  V given = argument(args, 3, name<"operands">());
  if (!predicate || !on_true || !on_false)
    return refuse(ctx, "arguments are missing", "");
  std::vector<V> operands;
  if (given) {
    given = ctx.look(given);
    Tree tree;
    if ((given->kind != Kind::Tuple && given->kind != Kind::List) ||
        !flatten(ctx, given, tree))
      return refuse(ctx, "the operands aren't a tuple of tensors",
                    "take other things from around the branches");
    MG_DO(values::unpack(ctx, given, operands));
  }
  predicate = ctx.look_symbolic(predicate);
  if (predicate->kind == Kind::Tensor) {
    if (tensor::has_symbolic_shape(fake_of(predicate)) ||
        tensor::numel(fake_of(predicate)) != 1)
      return refuse(ctx, "the predicate may have more than one element", "");
    return record(ctx, predicate, on_true, on_false, operands);
  }
  if (!PyType_IsSubtype(predicate->type, &PyLong_Type) &&
      !PyType_IsSubtype(predicate->type, &PyFloat_Type))
    return refuse(ctx, "the predicate is neither a number nor a tensor", "");
  MG_TRY(const bool is_true, values::truth(ctx, predicate));
  return values::call(ctx, is_true ? on_true : on_false,
                      {.positional = operands});
}

// The operator itself, which is given first.
Outcome<V> cond_operator(Context& ctx, const Arguments& args) {
  return cond(ctx, {.positional = args.positional.subspan(1)});
}

constexpr Row kRows[] = {
    {"torch", "cond", cond, 0, 4, "pred true_fn false_fn operands"},
    {"torch._higher_order_ops.cond", "CondOp.__call__", cond_operator, 5, 5,
     ""},
};

}  // namespace

std::span<const Row> cond_rows() { return kRows; }

}  // namespace magneto::natives
