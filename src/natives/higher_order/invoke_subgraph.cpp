// SPDX-License-Identifier: BSD-3-Clause
// torch.compiler.nested_compile_region: each call of a function that is marked
// so becomes a graph that the operator invoke_subgraph is given. Calls whose
// graphs are the same share one, which a backend compiles once:
//
//   invoke_subgraph(subgraph_0, "subgraph_0", *taken)
//
// A call that can't be such a graph is made as any other.
#include <algorithm>

#include "graph/equal.h"
#include "natives/higher_order/body.h"
#include "natives/torch/rows.h"
#include "tensor/symbols.h"

namespace magneto::natives {

namespace {

constexpr const char* kPrefix = "subgraph";

bool are_alike_tensors(Context& ctx, PyObject* a, PyObject* b) {
  if (tensor::scalar_type(a) != tensor::scalar_type(b) ||
      tensor::device(a) != tensor::device(b) ||
      tensor::layout(a) != tensor::layout(b) ||
      tensor::requires_grad(a) != tensor::requires_grad(b) ||
      tensor::dim(a) != tensor::dim(b))
    return false;
  const bool is_symbolic = tensor::has_symbolic_shape(a);
  if (is_symbolic != tensor::has_symbolic_shape(b)) return false;
  if (!is_symbolic)
    return std::ranges::equal(tensor::sizes(a), tensor::sizes(b)) &&
           std::ranges::equal(tensor::strides(a), tensor::strides(b));
  const auto& environment = ctx.symbols.environment();
  return tensor::size_expressions(environment, a) ==
             tensor::size_expressions(environment, b) &&
         tensor::stride_expressions(environment, a) ==
             tensor::stride_expressions(environment, b);
}

bool are_alike(Context& ctx, PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  if (tensor::is_tensor(a)) return are_alike_tensors(ctx, a, b);
  if (!PyTuple_Check(a)) return false;
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (!are_alike(ctx, PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
      return false;
  return true;
}

// The graph of an earlier call that is the same; null if there is none.
const graph::Graph* earlier(Context& ctx, const graph::Graph& body) {
  for (const auto& other : ctx.graph().nested())
    if (other.get() != &body && other->name().starts_with(kPrefix) &&
        graph::are_equal(*other, body, [&](PyObject* a, PyObject* b) {
          return are_alike(ctx, a, b);
        }))
      return other.get();
  return nullptr;
}

// Whether a backend could take the body for a function of its inputs: what it
// gives is new, and its effects need none of what it has computed.
bool stands_for_itself(const Body& body, std::span<const V> tensors) {
  if (!body.write_that_needs_it().empty()) return false;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!body.is_new(tensors[i], tensors.first(i))) return false;
  return true;
}

void record(Context& ctx, Body& body, std::span<const V> tensors) {
  body.end(tensors);
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  const graph::Graph* known = earlier(ctx, body.graph());
  const graph::NodeId read = known
                                 ? graph.get_nested(*known, origin)
                                 : graph.install(body.graph(), kPrefix, origin);
  const std::string& name = (known ? *known : body.graph()).name();
  Ref identifier = Ref::steal(PyUnicode_FromString(name.c_str()));
  MG_CHECK(identifier, "out of memory");
  std::vector<graph::Arg> operands{
      read, graph.constant(ctx.keep(std::move(identifier)))};
  for (graph::NodeId taken : graph::lifted_operands(body.graph()))
    operands.push_back(taken);
  const graph::NodeId node = graph.call_function(
      object_at<"torch._higher_order_ops.invoke_subgraph.invoke_subgraph">(),
      operands, {}, fakes_of(tensors), origin);
  become_items(ctx, node, tensors);
}

// (function, *args, **kwargs)
Outcome<V> invoke(Context& ctx, const Arguments& args) {
  V function = args.positional[0];
  const Arguments given{.positional = args.positional.subspan(1),
                        .keyword_values = args.keyword_values,
                        .keyword_names = args.keyword_names};
  Body body(ctx, "a function of torch.compiler.nested_compile_region");
  Outcome<V> result = body.trace(function, given);
  if (!result && result.signal() != Signal::Break) return result;
  if (result) {
    const std::vector<V> tensors = body.tensors_in(*result);
    if (!tensors.empty() && stands_for_itself(body, tensors)) {
      record(ctx, body, tensors);
      return result;
    }
  }
  body.discard();
  return values::call(ctx, function, given);
}

constexpr Row kRows[] = {
    {"torch._higher_order_ops.invoke_subgraph", "invoke_subgraph_placeholder",
     invoke, 1, kAny, "*"},
};

}  // namespace

std::span<const Row> invoke_subgraph_rows() { return kRows; }

}  // namespace magneto::natives
