// SPDX-License-Identifier: BSD-3-Clause
// Functions that read their input's data, be it to check it or because PyTorch
// has no operator below them. In the graph as they are; what comes out for fake
// tensors is said by magneto.polyfills.torch_shapes.
#include "natives/torch/rows.h"
#include "python/find.h"
#include "tensor/operator_effects.h"

namespace magneto::natives {

namespace {

template <Literal function>
PyObject* shape_of() {
  // Lives as long as the process, as its module does.
  static PyObject* const found = [] {
    Ref module = import_module("magneto.polyfills.torch_shapes");
    MG_CHECK(module, "magneto.polyfills.torch_shapes");
    PyObject* object = PyObject_GetAttrString(module, function.text);
    MG_CHECK(object, function.text);
    return object;
  }();
  return found;
}

// It fails for classes that are out of range.
Outcome<V> one_hot(Context& ctx, const Arguments& args) {
  tensor::operator_effects().may_fail();
  PyObject* function = object_at<"torch._C._nn.one_hot">();
  V input = argument(args, 0, name<"tensor">());
  V classes = argument(args, 1, name<"num_classes">());
  PyObject* count = classes ? as_constant(ctx, classes) : nullptr;
  const bool known = count && PyLong_CheckExact(count) &&
                     PyLong_AsLongLong(count) > 0 && input &&
                     ctx.look(input)->kind == Kind::Tensor;
  if (known) {
    Ref dtype = tensor::dtype_object(as<TensorValue>(ctx.look(input))->fake);
    if (dtype.get() == object_at<"torch.int64">())
      return record_function_as(ctx, function, shape_of<"one_hot">(), args);
  }
  const bool is_open = !classes || (count && PyLong_CheckExact(count) &&
                                    PyLong_AsLongLong(count) == -1);
  if (is_open && ctx.takes_data && input &&
      ctx.look(input)->kind == Kind::Tensor)
    return record_function_as(ctx, function, shape_of<"one_hot_of_data">(),
                              args);
  return record_function(ctx, function, args);
}

// Its kernel reads the data itself unless there is a gradient.
template <Literal path>
Outcome<V> max_pool1d(Context& ctx, const Arguments& args) {
  return record_function_as(ctx, object_at<path>(), shape_of<"max_pool1d">(),
                            args);
}

constexpr Row kRows[] = {
    {"torch", "max_pool1d", max_pool1d<"torch.max_pool1d">},
    {"torch.nn.functional", "max_pool1d",
     max_pool1d<"torch.nn.functional.max_pool1d">},
    {"torch._C._nn", "one_hot", one_hot},
};

}  // namespace

std::span<const Row> torch_shape_rows() { return kRows; }

}  // namespace magneto::natives
