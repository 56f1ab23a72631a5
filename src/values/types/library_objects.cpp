// SPDX-License-Identifier: BSD-3-Clause
// Objects of libraries that one call makes of what their heap slots keep:
//
//   functools.partial   function, tuple of arguments, dict of keywords
//   key of cmp_to_key   function; object, if it has one
//   operator.itemgetter, attrgetter, methodcaller
//                       the arguments that it was made with ...
//   random.Random       what _random.Random.getstate gives; None: see
//                       natives/library/random.cpp
//   property            fget, fset, fdel, the text
//   numpy.ndarray       the tensor (natives/torch/arrays.cpp)
#include "python/find.h"
#include "python/layout.h"
#include "values/types/construction.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

std::optional<Construction> construct_partial(Context& ctx, V value) {
  const auto& slots = ctx.heap[value->heap].slots;
  if (slots.empty()) return std::nullopt;
  return by_helper(ctx, "partial",
                   {class_value(ctx, value), slots[0], slots[1], slots[2]});
}

std::optional<Construction> construct_comparison_key(Context& ctx, V value) {
  return by_helper(ctx, "comparison_key", ctx.heap[value->heap].slots);
}

std::optional<Construction> construct_random(Context& ctx, V value) {
  const auto& slots = ctx.heap[value->heap].slots;
  if (slots.empty()) return std::nullopt;
  return by_helper(ctx, "random_generator",
                   {class_value(ctx, value), slots[0]});
}

std::optional<Construction> construct_property(Context& ctx, V value) {
  const auto& slots = ctx.heap[value->heap].slots;
  if (slots.empty()) return std::nullopt;
  return instance_of(ctx, value, &PyProperty_Type, slots);
}

std::optional<Construction> construct_array(Context& ctx, V value) {
  const auto& slots = ctx.heap[value->heap].slots;
  if (slots.size() != 1 || slots[0]->kind != Kind::Tensor) return std::nullopt;
  static PyObject* const numpy = find_object("torch._C.TensorBase.numpy");
  MG_CHECK(numpy, "tensors give arrays");
  return Construction{ctx.constant_share(numpy), slots};
}

std::optional<Construction> construct_inference_mode(Context& ctx, V value) {
  return Construction{attribute_of_module(ctx, "torch.autograd.grad_mode",
                                          "_enter_inference_mode"),
                      ctx.heap[value->heap].slots};
}

}  // namespace

std::span<const TypeRow> library_types() {
  static const TypeRow rows[] = {
      {.name = "functools.partial",
       .derived = true,
       .construct = construct_partial},
      {.find_type = python::comparison_key_type,
       .construct = construct_comparison_key},
      {.name = "operator.itemgetter", .construct = of_class},
      {.name = "operator.attrgetter", .construct = of_class},
      {.name = "operator.methodcaller", .construct = of_class},
      {.name = "_random.Random",
       .derived = true,
       .construct = construct_random},
      {.type = &PyProperty_Type,
       .derived = true,
       .construct = construct_property},
      {.name = "numpy.ndarray", .construct = construct_array},
      {.name = "torch._C._InferenceMode",
       .construct = construct_inference_mode},
  };
  return rows;
}

}  // namespace magneto::values
