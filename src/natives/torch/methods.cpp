// SPDX-License-Identifier: BSD-3-Clause
// Tensor methods that are no node of the graph: Python's protocols, questions
// about storage, and what a graph can't do. All others stand in graph.def.
#include "graph/uses.h"
#include "natives/torch/objects.h"
#include "natives/torch/rows.h"
#include "python/names.h"
#include "shapes/environment.h"
#include "values/torch/set_leaves.h"
#include "values/torch/torch_types.h"

namespace magneto::natives {

namespace {

// Instances of tensor classes are Tensor values: others were never wrapped.
V receiver(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  MG_CHECK(self->kind == Kind::Tensor, "a tensor method's receiver");
  return self;
}

Outcome<V> method_iter(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  return iterate(ctx, self);
}

Outcome<V> method_len(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  if (tensor::dim(fake_of(self)) == 0)
    return ctx.raise(PyExc_TypeError, "len() of a 0-d tensor");
  return first_size(ctx, self);
}

Outcome<V> method_getitem(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  return get_item(ctx, self, args.positional[1]);
}

Outcome<V> method_setitem(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  MG_DO(set_item(ctx, self, args.positional[1], args.positional[2]));
  return ctx.none();
}

// The offset of a caller's tensor is guarded only where a program asks; that of
// a view follows from its base's.
Outcome<V> method_storage_offset(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  if (self->object) {
    const int64_t offset = tensor::storage_offset(self->object);
    if (offset == tensor::storage_offset(fake_of(self))) {
      V symbol = ctx.symbols.value(
          ctx.symbols.make(shapes::Number::of(offset),
                           {guards::IntKind::StorageOffset, self->source},
                           shapes::Type::Integer));
      return ctx.look(symbol);
    }
  } else if (!tensor::is_view(fake_of(self))) {
    return ctx.integer(tensor::storage_offset(fake_of(self)));
  }
  return ctx.graph_break("tensor-method",
                         "the storage offset of a view of the caller's tensor");
}

// type(): a name. type(torch.FloatTensor): a conversion that the graph knows by
// the class's name, since the class itself is no argument of a node.
Outcome<V> method_type(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  static PyObject* const type_name = PyUnicode_InternFromString("type");
  if (args.count() == 2) {
    V wanted = ctx.look(args.positional[1]);
    if (wanted->object &&
        Py_IS_TYPE(wanted->object, torch_objects().tensor_type)) {
      Ref text = Ref::steal(PyObject_Str(wanted->object));
      if (!text) return ctx.raise_from_python();
      // "<class 'torch.FloatTensor'>"
      std::string whole = PyUnicode_AsUTF8(text);
      size_t from = whole.find('\''), to = whole.rfind('\'');
      V call[] = {self, ctx.string(whole.substr(from + 1, to - from - 1))};
      return record_method(ctx, type_name,
                           {.positional = call,
                            .keyword_values = args.keyword_values,
                            .keyword_names = args.keyword_names});
    }
  }
  return record_method(ctx, type_name, args);
}

Outcome<V> method_requires_grad(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  PyObject* wanted = Py_True;
  if (args.count() == 2) wanted = as_constant(ctx, args.positional[1]);
  if (args.has_keywords()) wanted = as_constant(ctx, args.keyword_values[0]);
  if (wanted == (tensor::requires_grad(fake_of(self)) ? Py_True : Py_False))
    return self;
  if (wanted == Py_True) return values::set_leaf(ctx, self);
  return ctx.graph_break("tensor-method",
                         "Tensor.requires_grad_ changes a tensor",
                         "call it outside of the compiled function");
}

// It ends the history of the caller's own tensor, which PyTorch's compilers
// don't do.
Outcome<V> method_detach_in_place(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  if (self->source.valid() && tensor::requires_grad(fake_of(self)))
    return ctx.graph_break("tensor-method",
                           "Tensor.detach_ of a tensor of the caller's",
                           "use detach() and the tensor that it gives");
  return record_method(ctx, name<"detach_">(), args);
}

// new_tensor(data): torch.tensor(data) with the dtype and device of the tensor.
Outcome<V> method_new_tensor(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  std::vector<V> values(args.keyword_values.begin(), args.keyword_values.end());
  std::vector<PyObject*> names(args.keyword_names.begin(),
                               args.keyword_names.end());
  if (!args.keyword(name<"dtype">())) {
    names.push_back(name<"dtype">());
    values.push_back(ctx.constant(tensor::dtype_object(fake_of(self))));
  }
  if (!args.keyword(name<"device">())) {
    names.push_back(name<"device">());
    values.push_back(ctx.constant(tensor::device_object(fake_of(self))));
  }
  return call(ctx, ctx.constant_share(object_at<"torch.tensor">()),
              {.positional = args.positional.subspan(1),
               .keyword_values = values,
               .keyword_names = names});
}

// new(sizes): what new_empty(sizes) is.
Outcome<V> method_new(Context& ctx, const Arguments& args) {
  for (V size : args.positional.subspan(1)) {
    size = ctx.look_symbolic(size);
    if (size->type != &PyLong_Type && size->type != torch_types().size)
      return ctx.graph_break("tensor-method",
                             "Tensor.new() of other than sizes",
                             "use Tensor.new_tensor()");
  }
  return record_method(ctx, name<"new_empty">(), args);
}

Outcome<V> method_deepcopy(Context& ctx, const Arguments&) {
  return ctx.graph_break("tensor-method", "copy.deepcopy of a tensor",
                         "use Tensor.clone()");
}

// -- what needs the data, or what a graph can't see ---------------------------

template <Literal method>
Outcome<V> needs_data(Context& ctx, const Arguments&) {
  return ctx.graph_break("data-dependent",
                         std::string(method.text) + "() gives a tensor's data");
}

template <Literal method>
Outcome<V> refuse(Context& ctx, const Arguments&) {
  return ctx.graph_break(
      "tensor-method",
      std::string(method.text) + "() is no operation of a graph",
      "call it outside of the compiled function");
}

}  // namespace

bool is_used_in_graph(Context& ctx, V tensor) {
  const graph::NodeRef ref = ctx.heap[tensor->heap].node;
  const graph::Graph& graph = ctx.tracer.of(ref);
  if (graph.node(ref.node).op == graph::Op::Placeholder) return false;
  bool is_used = false;
  for (size_t i = ref.node.index + 1; i < graph.node_count(); ++i)
    graph::visit_operands(graph.nodes()[i], [&](graph::NodeId operand) {
      is_used = is_used || operand == ref.node;
    });
  return is_used;
}

namespace {

// What takes or changes the gradient of a tensor. To PyTorch's compilers a
// tensor that a graph both gives and uses is two: what comes of its uses goes
// past the one that is given.
template <Literal method>
Outcome<V> ask_for_gradient(Context& ctx, const Arguments& args) {
  V self = receiver(ctx, args);
  if (!tensor::requires_grad(fake_of(self)) || !is_used_in_graph(ctx, self))
    return refuse<method>(ctx, args);
  return ctx.skip("tensor-method",
                  std::string(method.text) +
                      "() of a tensor that the graph has used, so that its "
                      "gradient wouldn't be whole",
                  "call it in front of the tensor's first use");
}

#define MG_GRADIENT(owner, name) \
  { owner, name, ask_for_gradient<name>, 1, kAny, "*" }
#define MG_DATA(owner, name) \
  { owner, name, needs_data<name> }
#define MG_REFUSE(owner, name) \
  { owner, name, refuse<name> }

constexpr Row kRows[] = {
    {"torch._C", "TensorBase.__len__", method_len, 1, 1, nullptr},
    {"torch._C", "TensorBase.__getitem__", method_getitem, 2, 2, nullptr},
    {"torch._C", "TensorBase.__setitem__", method_setitem, 3, 3, nullptr},
    {"torch._C", "TensorBase.new_tensor", method_new_tensor, 2, 2},
    {"torch._C", "TensorBase.new", method_new, 1},
    {"torch._C", "TensorBase.storage_offset", method_storage_offset, 1, 1,
     nullptr},
    {"torch._C", "TensorBase.type", method_type, 1, kAny, "*"},
    {"torch._C", "TensorBase.detach_", method_detach_in_place, 1, 1, ""},
    {"torch._C", "TensorBase.requires_grad_", method_requires_grad, 1, 2,
     "requires_grad"},
    MG_DATA("torch._C", "TensorBase.__complex__"),
    MG_DATA("torch._C", "TensorBase.apply_"),
    MG_DATA("torch._C", "TensorBase.map_"),
    MG_DATA("torch._C", "TensorBase.map2_"),
    MG_GRADIENT("torch._C", "TensorBase.retain_grad"),
    MG_REFUSE("torch._C", "TensorBase.data_ptr"),
    MG_REFUSE("torch._C", "TensorBase.const_data_ptr"),
    MG_REFUSE("torch._C", "TensorBase.is_set_to"),
    MG_REFUSE("torch._C", "TensorBase.untyped_storage"),
    MG_REFUSE("torch._C", "TensorBase.pin_memory"),
    MG_REFUSE("torch._C", "TensorBase.is_pinned"),
    MG_REFUSE("torch._C", "TensorBase.record_stream"),
    MG_REFUSE("torch._C", "TensorBase.resize_"),
    MG_REFUSE("torch._C", "TensorBase.resize_as_"),
    MG_REFUSE("torch._C", "TensorBase.set_"),
    MG_REFUSE("torch._C", "TensorBase.set_data"),
    MG_REFUSE("torch._C", "TensorBase.random_"),
    MG_REFUSE("torch._C", "TensorBase.as_subclass"),

    {"torch", "Tensor.__iter__", method_iter, 1, 1, nullptr},
    {"torch", "Tensor.__len__", method_len, 1, 1, nullptr},
    {"torch", "Tensor.__deepcopy__", method_deepcopy, 2, 2, nullptr},
    MG_DATA("torch", "Tensor.__array__"),
    MG_DATA("torch", "Tensor.__contains__"),
    MG_DATA("torch", "Tensor.__repr__"),
    MG_DATA("torch", "Tensor.__format__"),
    MG_DATA("torch", "Tensor.__reduce_ex__"),
    MG_DATA("torch", "Tensor.__dlpack__"),
    MG_REFUSE("torch", "Tensor.backward"),
    MG_REFUSE("torch", "Tensor.storage"),
    MG_REFUSE("torch", "Tensor._typed_storage"),
    MG_REFUSE("torch", "Tensor.storage_type"),
    MG_REFUSE("torch", "Tensor.is_shared"),
    MG_REFUSE("torch", "Tensor.share_memory_"),
    MG_REFUSE("torch", "Tensor.resize"),
    MG_REFUSE("torch", "Tensor.resize_as"),
};

}  // namespace

std::span<const Row> torch_method_rows() { return kRows; }

}  // namespace magneto::natives
