// SPDX-License-Identifier: BSD-3-Clause
#include "values/torch/set_leaves.h"

#include <algorithm>

#include "graph/uses.h"
#include "python/names.h"
#include "tensor/transforms.h"
#include "values/protocol/protocol.h"

namespace magneto::values {

namespace {

bool needs_gradient(PyObject* example) {
  return example && tensor::is_tensor(example) &&
         tensor::requires_grad(example);
}

}  // namespace

Outcome<V> set_leaf(Context& ctx, V value) {
  PyObject* fake = fake_of(value);
  const graph::NodeRef node = ctx.heap[value->heap].node;
  const bool is_computed = ctx.tracer.depth() == 0 &&
                           !tensor::is_in_transform() &&
                           ctx.tracer.node(node).op != graph::Op::Placeholder;
  if (!ctx.sets_requires_grad || !is_computed ||
      !tensor::can_require_grad(fake))
    return ctx.graph_break("tensor-method",
                           "Tensor.requires_grad_ changes a tensor",
                           "call it outside of the compiled function");
  static PyObject* const name = PyUnicode_InternFromString("requires_grad_");
  MG_CHECK(name, "out of memory");
  tensor::record_metadata(fake);
  MG_TRY(V leaf, record_method(ctx, name, {.positional = {&value, 1}}));
  ctx.graph().set_has_effect(ctx.heap[leaf->heap].node.node);
  ctx.set_leaves.push_back(leaf);
  return leaf;
}

bool gives_set_leaf(Context& ctx) {
  const auto leaves = ctx.set_leaves.items();
  const graph::Graph& graph = ctx.tracer.root();
  if (leaves.empty() || !graph.output_node().valid()) return false;
  const bool has_others =
      std::ranges::any_of(graph.inputs(), [&](const graph::Input& input) {
        return needs_gradient(graph.node(input.node).example);
      });
  bool gives = false;
  graph::visit_operands(
      graph.node(graph.output_node()), [&](graph::NodeId output) {
        PyObject* example = graph.node(output).example;
        gives = gives || (!has_others && needs_gradient(example)) ||
                std::ranges::any_of(
                    leaves, [&](V leaf) { return fake_of(leaf) == example; });
      });
  return gives;
}

}  // namespace magneto::values
