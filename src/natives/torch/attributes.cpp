// SPDX-License-Identifier: BSD-3-Clause
// Attributes of tensors: constants read from the fake, nodes of the graph for
// those that are tensors themselves, the user's own in the instance dictionary.
#include "values/protocol/attributes.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "guards/hooks.h"
#include "natives/torch/objects.h"
#include "natives/torch/rows.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "tensor/operator_effects.h"
#include "values/torch/gradients.h"
#include "values/torch/set_leaves.h"
#include "values/torch/tensor_choice.h"

namespace magneto::natives {

namespace {

Signal refuse_attribute(Context& ctx, PyObject* name, const char* why) {
  return ctx.graph_break(
      "tensor-attribute",
      std::string("Tensor.") + PyUnicode_AsUTF8(name) + " " + why,
      "use it outside of the compiled function");
}

// -- what C attributes mean ---------------------------------------------------

using Getter = Outcome<V> (*)(Context&, V tensor, PyObject* name);

// A number, flag or name that the fake knows as well as the real tensor.
Outcome<V> get_constant(Context& ctx, V tensor, PyObject* name) {
  Ref value = Ref::steal(PyObject_GetAttr(fake_of(tensor), name));
  if (!value) return ctx.raise_from_python();
  return from_constant(ctx, std::move(value));
}

// Another tensor: getattr(x, "T") in the graph.
Outcome<V> get_node(Context& ctx, V tensor, PyObject* name) {
  V args[] = {tensor, ctx.constant_share(name)};
  return record_function(ctx, torch_objects().getattr_function,
                         {.positional = args});
}

Outcome<V> get_data(Context& ctx, V tensor, PyObject*) {
  return record_function(ctx, torch_objects().get_data,
                         {.positional = {&tensor, 1}});
}

// Whether a write to one is seen in the other from then on, and in nothing else
// that the trace takes for known.
bool may_share_data(Context& ctx, V tensor, V data) {
  PyObject* fake = fake_of(tensor);
  PyObject* other = fake_of(data);
  const Ref dtype = tensor::dtype_object(fake);
  const Ref other_dtype = tensor::dtype_object(other);
  return dtype.get() == other_dtype.get() &&
         tensor::device(fake) == tensor::device(other) &&
         !tensor::is_inference(fake) && !tensor::is_inference(other) &&
         !ctx.symbols.known_number(fake) && !ctx.symbols.known_number(other);
}

// `tensor.data = data`: the tensor has the other's memory, sizes and strides
// from then on, and keeps its history and version.
Status set_data(Context& ctx, V tensor, PyObject* name, V data) {
  // What Module._apply does where nothing is converted.
  if (data == tensor) return done;
  if (data->kind != Kind::Tensor || !may_share_data(ctx, tensor, data))
    return refuse_attribute(ctx, name, "is written to");
  V args[] = {tensor, data};
  MG_DO(record_function(ctx, torch_objects().set_data, {.positional = args}));
  // No version tells.
  tensor::operator_effects().note_storage(tensor::storage_id(fake_of(tensor)));
  return done;
}

// The guard on a tensor doesn't say whether it is a view.
Outcome<V> get_base(Context& ctx, V tensor, PyObject* name) {
  if (tensor->source.valid())
    return refuse_attribute(ctx, name, "of a tensor that comes from outside");
  if (!tensor::is_view(fake_of(tensor))) return ctx.none();
  return get_node(ctx, tensor, name);
}

// Nothing if it can't be guarded.
std::optional<bool> is_leaf(Context& ctx, V tensor) {
  PyObject* fake = fake_of(tensor);
  const tensor::History history = tensor::history(fake);
  // Plain Python makes it, and allows then what it refuses without.
  if (history == tensor::History::Due) return std::nullopt;
  const bool is_leaf = history == tensor::History::None;
  if (!tensor->source.valid() || !tensor::requires_grad(fake)) return is_leaf;
  // What the graph writes to is computed from then on.
  if (tensor::version(fake) != tensor::version(tensor->object))
    return std::nullopt;
  if (!ctx.given_tensors.guard_history(tensor)) return std::nullopt;
  return is_leaf;
}

Outcome<V> get_is_leaf(Context& ctx, V tensor, PyObject* name) {
  const std::optional<bool> known = is_leaf(ctx, tensor);
  if (known) return ctx.boolean(*known);
  return refuse_attribute(ctx, name,
                          "of a tensor that requires grad and comes from "
                          "outside");
}

Outcome<V> get_grad_fn(Context& ctx, V tensor, PyObject* name) {
  if (tensor->source.valid() ? !tensor::requires_grad(fake_of(tensor))
                             : !tensor::has_grad_fn(fake_of(tensor)))
    return ctx.none();
  return refuse_attribute(ctx, name, "is a node of the autograd graph");
}

Outcome<V> get_grad(Context& ctx, V tensor, PyObject* name) {
  if (V written = values::written_gradient(ctx, tensor)) return written;
  // A leaf that the trace made has none before a backward pass.
  if (!tensor->source.valid() || tensor->object == nullptr) return ctx.none();
  auto grad = guards::hooks().tensor.grad;
  PyObject* real = grad ? grad(tensor->object) : nullptr;
  if (real == nullptr) return refuse_attribute(ctx, name, "is not known");
  return ctx.lazy(
      real, ctx.sources.field(tensor->source, guards::SourceKind::TensorGrad));
}

// Torch's own setter, on the fakes, says whether the gradient fits.
Status set_grad(Context& ctx, V tensor, PyObject* name, V value) {
  value = ctx.look(value);
  const bool is_none = value == ctx.none();
  if (!is_none && value->kind != Kind::Tensor)
    return refuse_attribute(ctx, name, "is set to what is no tensor");
  PyObject* fake = fake_of(tensor);
  if (PyObject_SetAttr(fake, name, is_none ? Py_None : fake_of(value)) < 0 ||
      PyObject_SetAttr(fake, name, Py_None) < 0)
    return ctx.symbols.exist() ? values::refused_by_torch(ctx)
                               : ctx.raise_from_python();
  values::write_gradient(ctx, tensor, value);
  return done;
}

Outcome<V> get_class(Context& ctx, V tensor, PyObject*) {
  return ctx.constant_share(reinterpret_cast<PyObject*>(tensor->type));
}

Outcome<V> get_dictionary(Context& ctx, V tensor, PyObject* name) {
  V mapping = attribute_mapping(ctx, tensor);
  if (mapping) return mapping;
  return refuse_attribute(ctx, name, "is not there");
}

Outcome<V> get_unknown(Context& ctx, V, PyObject* name) {
  return refuse_attribute(ctx, name, "is not known while tracing");
}

struct AttributeRow {
  const char* name;
  Getter get;
};

constexpr AttributeRow kAttributes[] = {
    {"shape", get_constant},
    {"ndim", get_constant},
    {"dtype", get_constant},
    {"device", get_constant},
    {"layout", get_constant},
    {"requires_grad", get_constant},
    {"is_cpu", get_constant},
    {"is_cuda", get_constant},
    {"is_ipu", get_constant},
    {"is_maia", get_constant},
    {"is_meta", get_constant},
    {"is_mkldnn", get_constant},
    {"is_mps", get_constant},
    {"is_mtia", get_constant},
    {"is_nested", get_constant},
    {"is_quantized", get_constant},
    {"is_sparse", get_constant},
    {"is_sparse_csr", get_constant},
    {"is_vulkan", get_constant},
    {"is_xla", get_constant},
    {"is_xpu", get_constant},
    {"itemsize", get_constant},
    {"nbytes", get_constant},
    {"name", get_constant},
    {"volatile", get_constant},
    {"_has_symbolic_sizes_strides", get_constant},
    {"is_leaf", get_is_leaf},
    {"T", get_node},
    {"H", get_node},
    {"mT", get_node},
    {"mH", get_node},
    {"real", get_node},
    {"imag", get_node},
    {"_base", get_base},
    {"data", get_data},
    {"grad", get_grad},
    {"_grad", get_grad},
    {"grad_fn", get_grad_fn},
    {"_grad_fn", get_grad_fn},
    {"__class__", get_class},
    {"__dict__", get_dictionary},
};

// By interned name.
Getter getter_of(PyObject* name) {
  static const std::unordered_map<PyObject*, Getter> getters = [] {
    std::unordered_map<PyObject*, Getter> map;
    for (const AttributeRow& row : kAttributes) {
      PyObject* interned_name = PyUnicode_InternFromString(row.name);
      MG_CHECK(interned_name, "out of memory");
      map.emplace(interned_name, row.get);
    }
    return map;
  }();
  auto found = getters.find(name);
  return found == getters.end() ? get_unknown : found->second;
}

PyObject* interned_form(Context& ctx, PyObject* name) {
  if (PyUnicode_CHECK_INTERNED(name)) return name;
  PyObject* own = Ref::share(name).release();
  PyUnicode_InternInPlace(&own);
  return ctx.keep(Ref::steal(own));
}

// Whether the tensor has attributes of the user's: set by the trace, or in the
// dictionary of a caller's tensor.
bool has_own_attributes(Context& ctx, V tensor) {
  if (ctx.heap[tensor->heap].attributes.valid()) return true;
  if (tensor->object == nullptr) return false;
  PyObject** dict = python::made_dict_slot(tensor->object);
  return dict && *dict && PyDict_GET_SIZE(*dict) != 0;
}

}  // namespace

Outcome<V> tensor_attribute(Context& ctx, V tensor, PyObject* name) {
  name = interned_form(ctx, name);
  PyObject* found = values::type_lookup(ctx, tensor->type, name);
  if (found) {
    PyTypeObject* kind = Py_TYPE(found);
    if (kind == &PyGetSetDescr_Type) return getter_of(name)(ctx, tensor, name);
    if (kind->tp_descr_set)
      return bind_descriptor(ctx, found, tensor, tensor->type, name);
  }
  if (!found || has_own_attributes(ctx, tensor)) {
    if (V mapping = attribute_mapping(ctx, tensor)) {
      V value = dict_get_string(ctx, mapping, name);
      if (value) return value;
    }
  }
  if (!found) return nullptr;
  if (Py_IS_TYPE(found, &PyMethodDescr_Type) ||
      Py_IS_TYPE(found, &PyFunction_Type) ||
      Py_IS_TYPE(found, &PyWrapperDescr_Type))
    return ctx.method(ctx.constant_share(found), tensor);
  return bind_descriptor(ctx, found, tensor, tensor->type, name);
}

Status set_tensor_attribute(Context& ctx, V tensor, PyObject* name, V value) {
  if (is_chosen(ctx, tensor)) return ctx.graph_break(values::kTensorChoice);
  name = interned_form(ctx, name);
  PyObject* found = python::mro_lookup(tensor->type, name);
  if (found && Py_TYPE(found)->tp_descr_set) {
    if (value && PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
      PyObject* wanted = as_constant(ctx, value);
      const bool requires_grad = tensor::requires_grad(fake_of(tensor));
      if (wanted == (requires_grad ? Py_True : Py_False) &&
          is_leaf(ctx, tensor) == true)
        return done;
      if (wanted == Py_True && !requires_grad) {
        MG_DO(values::set_leaf(ctx, tensor));
        return done;
      }
    }
    if (value && getter_of(name) == get_data)
      return set_data(ctx, tensor, name, ctx.look(value));
    if (value && getter_of(name) == get_grad)
      return set_grad(ctx, tensor, name, value);
    return refuse_attribute(ctx, name, "is written to");
  }
  V mapping = attribute_mapping(ctx, tensor);
  MG_CHECK(mapping, "a tensor has an instance dictionary");
  V key = ctx.constant_share(name);
  if (value) return dict_set(ctx, mapping, key, value);
  MG_TRY(V old, dict_pop(ctx, mapping, key));
  if (old) return done;
  return attribute_error(ctx, tensor, name);
}

}  // namespace magneto::natives
