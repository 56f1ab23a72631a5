// SPDX-License-Identifier: BSD-3-Clause
// Tensor.numpy(): an array of NumPy's that shows a tensor's memory. What it
// says without its data, its shape among that, is known while tracing; who
// wants more breaks the graph, and the array is made from what the graph gives.
#include "natives/torch/rows.h"
#include "tensor/fake_tensor.h"

namespace magneto::natives {

namespace {

// An empty array as a tensor of that dtype gives it; null if it gives none.
PyObject* array_like(Context& ctx, V tensor) {
  static PyObject* const empty = find_object("torch.empty");
  MG_CHECK(empty, "torch.empty");
  const tensor::RealModeScope real;
  const Ref dtype =
      Ref::steal(PyObject_GetAttrString(fake_of(tensor), "dtype"));
  const Ref size = Ref::steal(Py_BuildValue("(i)", 0));
  const Ref keywords = Ref::steal(
      dtype ? Py_BuildValue("{s:O,s:s}", "dtype", dtype.get(), "device", "cpu")
            : nullptr);
  const Ref made =
      Ref::steal(keywords ? PyObject_Call(empty, size, keywords) : nullptr);
  Ref array =
      Ref::steal(made ? PyObject_CallMethod(made, "numpy", nullptr) : nullptr);
  PyErr_Clear();
  return array ? ctx.keep(std::move(array)) : nullptr;
}

// Whether PyTorch gives the tensor's memory without more ado.
bool shows_memory(V tensor) {
  PyObject* fake = fake_of(tensor);
  constexpr int8_t kCpu = 0;  // c10::DeviceType::CPU
  if (tensor::device(fake).first != kCpu || tensor::requires_grad(fake))
    return false;
  for (const char* question : {"is_conj", "is_neg"}) {
    const Ref answer = Ref::steal(PyObject_CallMethod(fake, question, nullptr));
    if (!answer) PyErr_Clear();
    if (answer.get() != Py_False) return false;
  }
  return true;
}

Outcome<V> make_array(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  PyObject* like =
      args.count() == 1 && !args.has_keywords() && shows_memory(self)
          ? array_like(ctx, self)
          : nullptr;
  if (!like)
    return ctx.graph_break("data-dependent",
                           "TensorBase.numpy() gives a tensor's data");
  V array = ctx.object(Py_TYPE(like));
  ctx.heap.initial(array->heap).slots = {self};
  return array;
}

// The tensor of an array that the trace has made.
Outcome<V> tensor_of(Context& ctx, const Arguments& args) {
  V array = ctx.look(args.positional[0]);
  if (!array->object && array->heap.valid() &&
      ctx.heap[array->heap].slots.size() == 1)
    return ctx.heap[array->heap].slots[0];
  return ctx.graph_break("c-attribute", "an attribute of an array of NumPy's",
                         "read it outside of the compiled function");
}

Outcome<V> shape(Context& ctx, const Arguments& args) {
  MG_TRY(V tensor, tensor_of(ctx, args));
  MG_TRY(V sizes, get_attribute(ctx, tensor, name<"shape">()));
  std::vector<V> items;
  MG_DO(unpack(ctx, sizes, items));
  return ctx.tuple(items);
}

// What the tensor says as well, under that name.
template <Literal attribute>
Outcome<V> as_tensor(Context& ctx, const Arguments& args) {
  MG_TRY(V tensor, tensor_of(ctx, args));
  return get_attribute(ctx, tensor, name<attribute>());
}

Outcome<V> count(Context& ctx, const Arguments& args) {
  MG_TRY(V tensor, tensor_of(ctx, args));
  return call_method(ctx, tensor, name<"numel">(), {});
}

Outcome<V> dtype(Context& ctx, const Arguments& args) {
  MG_TRY(V tensor, tensor_of(ctx, args));
  Ref own =
      Ref::steal(PyObject_GetAttr(array_like(ctx, tensor), name<"dtype">()));
  if (!own) return ctx.raise_from_python();
  return ctx.known(std::move(own));
}

Outcome<V> array_length(Context& ctx, const Arguments& args) {
  MG_TRY(V tensor, tensor_of(ctx, args));
  if (tensor::dim(fake_of(tensor)) == 0)
    return ctx.raise(PyExc_TypeError, "len() of unsized object");
  return first_size(ctx, tensor);
}

constexpr const char* kNumpy = "numpy";

constexpr Row kRows[] = {
    {"torch._C", "TensorBase.numpy", make_array, 1, kAny, "*"},
    {kNumpy, "ndarray.shape", shape, 1, 1, nullptr},
    {kNumpy, "ndarray.ndim", as_tensor<"ndim">, 1, 1, nullptr},
    {kNumpy, "ndarray.itemsize", as_tensor<"itemsize">, 1, 1, nullptr},
    {kNumpy, "ndarray.nbytes", as_tensor<"nbytes">, 1, 1, nullptr},
    {kNumpy, "ndarray.size", count, 1, 1, nullptr},
    {kNumpy, "ndarray.dtype", dtype, 1, 1, nullptr},
    {kNumpy, "ndarray.__len__", array_length, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> torch_array_rows() { return kRows; }

}  // namespace magneto::natives
