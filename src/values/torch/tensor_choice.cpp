// SPDX-License-Identifier: BSD-3-Clause
#include "values/torch/tensor_choice.h"

#include <algorithm>

#include "graph/uses.h"
#include "python/find.h"
#include "tensor/fake_tensor.h"
#include "tensor/operator_effects.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"

namespace magneto::values {

const BreakException kTensorChoice{
    {"data-dependent", "which of two tensors min() or max() has given",
     "choose with torch.where or torch.minimum"}};

namespace {

// A program that calls these itself doesn't give them the same operands.
PyObject* less() {
  static PyObject* const object = find_object("torch.ops.aten.lt.Tensor");
  return object;
}
PyObject* greater() {
  static PyObject* const object = find_object("torch.ops.aten.gt.Tensor");
  return object;
}
PyObject* where() {
  static PyObject* const object = find_object("torch.ops.aten.where.self");
  return object;
}

bool is_node(const graph::Arg& arg, const graph::Arg& other) {
  return arg.is_node() && other.is_node() && arg.node() == other.node();
}

// where(second < first, second, first)
bool is_choice(const graph::Graph& graph, const graph::Node& node) {
  if (node.erased || node.op != graph::Op::CallFunction ||
      node.target.get() != where() || node.args.size() != 3 ||
      !node.args[0].is_node())
    return false;
  const graph::Node& condition = graph.node(node.args[0].node());
  return condition.op == graph::Op::CallFunction &&
         (condition.target.get() == less() ||
          condition.target.get() == greater()) &&
         condition.args.size() == 2 &&
         is_node(condition.args[0], node.args[1]) &&
         is_node(condition.args[1], node.args[2]);
}

bool is_untouched(PyObject* fake) {
  return tensor::version(fake) == 0 && !tensor::requires_grad(fake) &&
         !tensor::operator_effects().is_written(tensor::storage_id(fake));
}

bool is_of_one_element(PyObject* fake) {
  return !tensor::has_symbolic_shape(fake) &&
         std::ranges::all_of(tensor::sizes(fake),
                             [](int64_t size) { return size == 1; });
}

// A tensor that the trace has made, with memory of its own.
bool may_be_chosen(Context& ctx, V value) {
  if (value->kind != Kind::Tensor || value->source.valid() || value->object ||
      value->type != torch_types().tensor ||
      ctx.heap[value->heap].attributes.valid())
    return false;
  PyObject* fake = fake_of(value);
  if (!is_of_one_element(fake) || !is_untouched(fake) ||
      tensor::is_view(fake) || tensor::is_inference(fake) ||
      tensor::is_conj(fake) || tensor::is_neg(fake))
    return false;
  return std::ranges::none_of(
      ctx.tracer.root().inputs(), [&](const graph::Input& input) {
        const Ref& example = ctx.tracer.root().node(input.node).example;
        return example && tensor::is_tensor(example) &&
               tensor::shares_storage(example, fake);
      });
}

bool are_alike(PyObject* first, PyObject* second) {
  const Ref dtype = tensor::dtype_object(first);
  const Ref other = tensor::dtype_object(second);
  return dtype.get() == other.get() &&
         tensor::device(first) == tensor::device(second) &&
         tensor::sizes(first).size() == tensor::sizes(second).size() &&
         !tensor::shares_storage(first, second);
}

// Which of these tensors the program gets, or such as share memory with them.
bool are_given_apart(const graph::Graph& graph, PyObject* chosen,
                     PyObject* first, PyObject* second) {
  bool gives_chosen = false, gives_other = false;
  graph::visit_operands(graph.node(graph.output_node()), [&](graph::NodeId id) {
    const Ref& example = graph.node(id).example;
    if (!example || !tensor::is_tensor(example)) return;
    gives_chosen |= tensor::shares_storage(example, chosen);
    gives_other |= tensor::shares_storage(example, first) ||
                   tensor::shares_storage(example, second);
  });
  return gives_chosen && gives_other;
}

}  // namespace

Outcome<V> choose_tensor(Context& ctx, int comparison, V first, V second) {
  // Numbers stay what they are.
  first = ctx.look_open(first);
  second = ctx.look_open(second);
  if (!ctx.takes_data || first == second || !may_be_chosen(ctx, first) ||
      !may_be_chosen(ctx, second) ||
      !are_alike(fake_of(first), fake_of(second)) ||
      (ctx.symbols.known_number(fake_of(first)) &&
       ctx.symbols.known_number(fake_of(second))))
    return nullptr;
  V compared[] = {second, first};
  MG_TRY(V holds, record_function(ctx, comparison == Py_LT ? less() : greater(),
                                  {.positional = compared}));
  V chosen[] = {holds, second, first};
  return record_function(ctx, where(), {.positional = chosen});
}

bool is_chosen(const Context& ctx, V value) {
  if (value->kind != Kind::Tensor || !value->heap.valid()) return false;
  const graph::NodeRef node = ctx.heap[value->heap].node;
  return node.valid() && is_choice(ctx.tracer.of(node), ctx.tracer.node(node));
}

bool shows_choice(const graph::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const graph::Node& node) {
    if (!is_choice(graph, node)) return false;
    PyObject* chosen = node.example;
    PyObject* first = graph.node(node.args[2].node()).example;
    PyObject* second = graph.node(node.args[1].node()).example;
    return !is_untouched(chosen) || !is_untouched(first) ||
           !is_untouched(second) ||
           are_given_apart(graph, chosen, first, second);
  });
}

}  // namespace magneto::values
