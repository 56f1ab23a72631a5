// SPDX-License-Identifier: BSD-3-Clause
// Functions that make tensors from numbers. In the graph, unless the result is
// to be a leaf of the autograd graph.
#include <algorithm>

#include "natives/torch/rows.h"
#include "values/model/recursion.h"
#include "values/protocol/operands.h"
#include "values/torch/torch_types.h"
#include "values/types/numpy_values.h"

namespace magneto::natives {

namespace {

// A leaf made inside would be the compiled graph's, and a graph returns what
// it computes: gradients could never reach it.
template <Literal path>
Outcome<V> construct(Context& ctx, const Arguments& args) {
  if (V wanted = args.keyword(name<"requires_grad">())) {
    if (values::as_constant(ctx, wanted) != Py_False)
      return ctx.graph_break(
          "new-leaf", std::string(path.text) + " with requires_grad=True",
          "make the tensor outside of the compiled function and pass it in");
  }
  return call_real<path>(ctx, args);
}

// Whether data has something in it that PyTorch's tensor() takes otherwise than
// the same in terms of operators: one of NumPy's numbers, or a tensor that has
// dimensions.
bool is_taken_otherwise(Context& ctx, V value) {
  // A container may hold itself.
  const values::RecursionScope scope;
  if (!scope.has_room()) return false;
  value = ctx.look_open(value);
  if (value->kind == Kind::Tensor) return tensor::dim(fake_of(value)) > 0;
  if (value->kind != Kind::Tuple && value->kind != Kind::List)
    return values::is_numpy_number(value->type);
  return std::ranges::any_of(values::items_of(ctx, value), [&](V item) {
    return is_taken_otherwise(ctx, item);
  });
}

// Its own code stores plain numbers; PyTorch has the same in terms of
// operators, which take any, but no dtype from NumPy's.
Outcome<V> tensor_of_numbers(Context& ctx, const Arguments& args) {
  V data = argument(args, 0, name<"data">());
  if (data && holds_symbol(ctx, data)) {
    if (is_taken_otherwise(ctx, data))
      return ctx.graph_break(
          "data-dependent",
          "torch.tensor of a number that varies, and a tensor with dimensions "
          "or one of NumPy's numbers",
          "make Python numbers of them, with item()");
    return construct<"torch._refs.tensor">(ctx, args);
  }
  return construct<"torch.tensor">(ctx, args);
}

// The dtype that torch.full() takes from a number like that in a tensor; null
// for the default one.
Outcome<V> dtype_for(Context& ctx, V value) {
  MG_TRY(V own, get_attribute(ctx, value, name<"dtype">()));
  const auto is = [&](const char* what) {
    const Ref answer = Ref::steal(PyObject_GetAttrString(own->object, what));
    return answer == Py_True;
  };
  if (is("is_floating_point")) return nullptr;
  if (is("is_complex"))
    return ctx.graph_break("data-dependent", "torch.full of a complex tensor",
                           "give torch.full the dtype");
  static PyObject* const truth = find_object("torch.bool");
  static PyObject* const integer = find_object("torch.int64");
  return ctx.constant_share(own->object == truth ? truth : integer);
}

// A fill value that is a tensor is data: the tensor is made, then filled.
Outcome<V> full(Context& ctx, const Arguments& args) {
  V value = argument(args, 1, name<"fill_value">());
  if (args.count() != 2 || !value ||
      ctx.look_symbolic(value)->kind != Kind::Tensor)
    return construct<"torch.full">(ctx, args);
  std::vector<V> values(args.keyword_values.begin(), args.keyword_values.end());
  std::vector<PyObject*> names(args.keyword_names.begin(),
                               args.keyword_names.end());
  V given = args.keyword(name<"dtype">());
  if (!given || ctx.look(given) == ctx.none()) {
    MG_TRY(V dtype, dtype_for(ctx, ctx.look_symbolic(value)));
    if (dtype && given) {
      *std::ranges::find(values, given) = dtype;
    } else if (dtype) {
      values.push_back(dtype);
      names.push_back(name<"dtype">());
    }
  }
  MG_TRY(V made,
         construct<"torch.empty">(ctx, {.positional = args.positional.first(1),
                                        .keyword_values = values,
                                        .keyword_names = names}));
  V fill[] = {made, value};
  return record_method(ctx, name<"fill_">(), {.positional = fill});
}

// torch.Tensor(x.size()) is a tensor of that size, and torch.Tensor((2, 3)) one
// of these two numbers. In torch.fx a torch.Size is a tuple, so its numbers are
// given one by one.
template <Literal path>
Outcome<V> legacy_construct(Context& ctx, const Arguments& args) {
  if (args.positional.size() == 1) {
    V size = ctx.look_symbolic(args.positional[0]);
    if (size->type == values::torch_types().size) {
      const std::vector<V> numbers = values::items_of(ctx, size);
      if (numbers.empty())
        return ctx.graph_break("native-call",
                               std::string(path.text) + "(torch.Size([]))",
                               "use torch.empty(())");
      return call_real<path>(ctx, {.positional = numbers,
                                   .keyword_values = args.keyword_values,
                                   .keyword_names = args.keyword_names});
    }
  }
  return construct<path>(ctx, args);
}

#define MG_LEGACY(type) \
  { "torch", type, legacy_construct<"torch." type> }
// torch.autograd.Variable(data, requires_grad): the tensor, detached.
Outcome<V> make_variable(Context& ctx, const Arguments& args) {
  V data = argument(args, 0, name<"data">());
  V gradient = argument(args, 1, name<"requires_grad">());
  data = data ? ctx.look(data) : ctx.none();
  const bool is_simple =
      args.count() <= 2 &&
      std::ranges::all_of(args.keyword_names, [](PyObject* given) {
        return given == name<"data">() || given == name<"requires_grad">();
      });
  PyObject* wanted = gradient ? values::as_constant(ctx, gradient) : Py_False;
  if (wanted == Py_True)
    return ctx.graph_break(
        "new-leaf", "torch.autograd.Variable with requires_grad=True",
        "make the tensor outside of the compiled function and pass it in");
  if (wanted != Py_False || data == ctx.none() || !is_simple)
    return ctx.graph_break("instantiate", "a Variable in another form",
                           "pass a tensor, and True or False");
  if (data->kind != Kind::Tensor)
    return ctx.raise(PyExc_TypeError,
                     std::string("Variable data has to be a tensor, but got ") +
                         data->type->tp_name);
  return record_method(ctx, name<"detach">(), {.positional = {&data, 1}});
}

#define MG_CONSTRUCT(function) \
  { "torch", function, construct<"torch." function> }

constexpr Row kRows[] = {
    MG_CONSTRUCT("arange"),
    MG_CONSTRUCT("as_tensor"),
    MG_CONSTRUCT("asarray"),
    MG_CONSTRUCT("empty"),
    MG_CONSTRUCT("empty_like"),
    MG_CONSTRUCT("empty_permuted"),
    MG_CONSTRUCT("empty_strided"),
    MG_CONSTRUCT("eye"),
    {"torch", "full", full},
    MG_CONSTRUCT("full_like"),
    MG_CONSTRUCT("hann_window"),
    MG_CONSTRUCT("linspace"),
    MG_CONSTRUCT("logspace"),
    MG_CONSTRUCT("normal"),
    MG_CONSTRUCT("ones"),
    MG_CONSTRUCT("ones_like"),
    MG_CONSTRUCT("rand"),
    MG_CONSTRUCT("rand_like"),
    MG_CONSTRUCT("randint"),
    MG_CONSTRUCT("randint_like"),
    MG_CONSTRUCT("randn"),
    MG_CONSTRUCT("randn_like"),
    MG_CONSTRUCT("randperm"),
    MG_CONSTRUCT("range"),
    MG_CONSTRUCT("scalar_tensor"),
    {"torch", "tensor", tensor_of_numbers},
    MG_CONSTRUCT("tril_indices"),
    MG_CONSTRUCT("triu_indices"),
    MG_CONSTRUCT("zeros"),
    MG_CONSTRUCT("zeros_like"),

    row::breaks("torch", "from_numpy"),
    row::breaks("torch", "frombuffer"),
    row::breaks("torch", "from_file"),
    row::breaks("torch", "load"),
    MG_LEGACY("Tensor"),
    MG_LEGACY("FloatTensor"),
    MG_LEGACY("DoubleTensor"),
    MG_LEGACY("HalfTensor"),
    MG_LEGACY("BFloat16Tensor"),
    MG_LEGACY("LongTensor"),
    MG_LEGACY("IntTensor"),
    MG_LEGACY("ShortTensor"),
    MG_LEGACY("ByteTensor"),
    MG_LEGACY("CharTensor"),
    MG_LEGACY("BoolTensor"),
    {"torch.autograd", "Variable", make_variable, 0, kAny, "*"},
    row::breaks("torch", "Generator"),
    row::breaks("torch.nn.parameter", "Parameter"),
    row::breaks("torch.nn.parameter", "Buffer"),
};

}  // namespace

std::span<const Row> torch_constructor_rows() { return kRows; }

}  // namespace magneto::natives
