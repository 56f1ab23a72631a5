// SPDX-License-Identifier: BSD-3-Clause
// Numbers that come out of tensors: item(), tolist(), int(), float(), bool().
// Each is a node of the graph, and a symbol while tracing.
#include "natives/torch/rows.h"
#include "python/names.h"
#include "shapes/environment.h"
#include "values/protocol/symbolic.h"

namespace magneto::natives {

namespace {

using shapes::E;
using shapes::Type;

// Numbers of more elements stay in their tensor: each is a node of the graph.
constexpr int64_t kMostElements = 1024;

Outcome<bool> has_one_element(Context& ctx, V tensor) {
  if (!tensor::has_symbolic_shape(fake_of(tensor)))
    return tensor::numel(fake_of(tensor)) == 1;
  const E count =
      tensor::numel_expression(ctx.symbols.environment(), fake_of(tensor));
  shapes::Expressions& table = ctx.symbols.environment()->expressions();
  return truth(ctx, ctx.symbols.value(table.equal(count, table.integer(1))));
}

// What asks a tensor that hasn't one element for its number raises.
Outcome<V> item_refused(Context& ctx, V tensor) {
  return ctx.raise(PyExc_RuntimeError,
                   "a Tensor with " +
                       std::to_string(tensor::numel(fake_of(tensor))) +
                       " elements cannot be converted to Scalar");
}

Outcome<V> number_refused(Context& ctx, V) {
  return ctx.raise(PyExc_ValueError,
                   "only one element tensors can be converted to Python "
                   "scalars");
}

Outcome<V> truth_refused(Context& ctx, V tensor) {
  const bool is_empty = tensor::numel(fake_of(tensor)) == 0;
  return ctx.raise(PyExc_RuntimeError,
                   std::string("Boolean value of Tensor with ") +
                       (is_empty ? "no values" : "more than one value") +
                       " is ambiguous");
}

Outcome<V> index_refused(Context& ctx, V) {
  return ctx.raise(PyExc_TypeError,
                   "only integer tensors of a single element can be converted "
                   "to an index");
}

using Refused = Outcome<V> (*)(Context&, V);

// The number of a tensor with one element.
Outcome<V> number_in(Context& ctx, V tensor, Refused refused) {
  const auto type = tensor::number_type(fake_of(tensor));
  if (!type || !ctx.takes_data)
    return ctx.graph_break("data-dependent", "a number out of a tensor");
  MG_TRY(bool is_one, has_one_element(ctx, tensor));
  if (!is_one) return refused(ctx, tensor);
  if (Ref known = ctx.symbols.known_number(fake_of(tensor)))
    return ctx.constant(std::move(known));
  return ctx.symbols.node_number(type->type, type->range, [&](Ref example) {
    return ctx.graph().call_method(
        name<"item">(), {ctx.tracer.lift(ctx.heap[tensor->heap].node)}, {},
        std::move(example), ctx.inliner->origin());
  });
}

V receiver(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  MG_CHECK(self->kind == Kind::Tensor, "a tensor method's receiver");
  return self;
}

Outcome<V> item(Context& ctx, const Arguments& args) {
  return number_in(ctx, receiver(ctx, args), item_refused);
}

// Numbers, in lists as deep as the tensor has dimensions.
Outcome<V> numbers_in(Context& ctx, V tensor) {
  if (tensor::dim(fake_of(tensor)) == 0)
    return number_in(ctx, tensor, item_refused);
  MG_TRY(V size, first_size(ctx, tensor));
  size = ctx.look(size);
  const int64_t count = PyLong_AsLongLong(size->object);
  if (count > kMostElements)
    return ctx.graph_break("data-dependent",
                           "tolist() of " + std::to_string(count) + " numbers");
  std::vector<V> numbers;
  for (int64_t i = 0; i < count; ++i) {
    MG_TRY(V part, get_item(ctx, tensor, ctx.integer(i)));
    MG_TRY(V number, numbers_in(ctx, ctx.look(part)));
    numbers.push_back(number);
  }
  return ctx.list(numbers);
}

Outcome<V> to_list(Context& ctx, const Arguments& args) {
  return numbers_in(ctx, receiver(ctx, args));
}

// A number as the constructor of its class makes it of another.
template <Literal constructor, Refused refused>
Outcome<V> converted(Context& ctx, const Arguments& args) {
  MG_TRY(V number, number_in(ctx, receiver(ctx, args), refused));
  return call(ctx, ctx.constant_share(object_at<constructor>()), {number});
}

Outcome<V> as_index(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  const auto type = tensor::number_type(fake_of(self));
  if (!type || type->type == Type::Float) return index_refused(ctx, self);
  return converted<"builtins.int", index_refused>(ctx, args);
}

constexpr Row kRows[] = {
    {"torch._C", "TensorBase.item", item, 1, 1, nullptr},
    {"torch._C", "TensorBase.tolist", to_list, 1, 1, nullptr},
    {"torch._C", "TensorBase.__int__",
     converted<"builtins.int", number_refused>, 1, 1, nullptr},
    {"torch._C", "TensorBase.__float__",
     converted<"builtins.float", number_refused>, 1, 1, nullptr},
    {"torch._C", "TensorBase.__bool__",
     converted<"builtins.bool", truth_refused>, 1, 1, nullptr},
    {"torch._C", "TensorBase.__index__", as_index, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> torch_number_rows() { return kRows; }

}  // namespace magneto::natives
