// SPDX-License-Identifier: BSD-3-Clause
// How a result lies in memory whose sizes only the graph's run tells. Kernels
// have ways of their own for sizes of zero and one, so strides that follow from
// sizes tell nothing for sure: they are read off the result.
#include "natives/torch/rows.h"
#include "shapes/environment.h"

namespace magneto::natives {

namespace {

bool is_known_at_run_only(Context& ctx, V tensor) {
  if (!ctx.symbols.exist_of_data()) return false;
  // The caller's tensors have the strides that guards ask for.
  if (ctx.tracer.node(ctx.heap[tensor->heap].node).op == graph::Op::Placeholder)
    return false;
  for (shapes::E size :
       tensor::size_expressions(ctx.symbols.environment(), fake_of(tensor)))
    if (ctx.symbols.environment()->has_unbacked(size)) return true;
  return false;
}

V stride_in_graph(Context& ctx, V tensor, int64_t dimension) {
  static PyObject* const function =
      object_at<"torch.ops.aten.sym_stride.int">();
  V index = ctx.integer(dimension);
  return ctx.symbols.node_number(
      shapes::Type::Integer, {.least = 0}, [&](Ref example) {
        return ctx.graph().call_function(
            function,
            {ctx.tracer.lift(ctx.heap[tensor->heap].node),
             ctx.graph().constant(index->object)},
            {}, std::move(example), ctx.inliner->origin());
      });
}

Outcome<V> stride(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  V given = argument(args, 1, name<"dim">());
  PyObject* dim = given ? as_constant(ctx, given) : nullptr;
  const auto ndim = static_cast<int64_t>(tensor::dim(fake_of(self)));
  if (!is_known_at_run_only(ctx, self) || args.count() > 2 || (given && !dim) ||
      (dim && dim != Py_None && !PyLong_CheckExact(dim)))
    return values::record_method(ctx, name<"stride">(), args);
  if (dim && dim != Py_None) {
    const int64_t at = PyLong_AsLongLong(dim);
    if (at < -ndim || at >= ndim)
      return values::record_method(ctx, name<"stride">(), args);
    return stride_in_graph(ctx, self, at < 0 ? at + ndim : at);
  }
  std::vector<V> strides;
  for (int64_t i = 0; i < ndim; ++i)
    strides.push_back(stride_in_graph(ctx, self, i));
  return ctx.tuple(strides);
}

Outcome<V> is_contiguous(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  if (is_known_at_run_only(ctx, self))
    return ctx.graph_break(
        "data-dependent",
        "whether a tensor is contiguous whose sizes depend on data",
        "make it contiguous, or ask outside of the compiled function");
  return values::record_method(ctx, name<"is_contiguous">(), args);
}

constexpr Row kRows[] = {
    {"torch._C", "TensorBase.stride", stride},
    {"torch._C", "TensorBase.is_contiguous", is_contiguous},
};

}  // namespace

std::span<const Row> torch_layout_rows() { return kRows; }

}  // namespace magneto::natives
