// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/wrapping.h"

#include <string_view>

#include "guards/guard.h"
#include "python/find.h"
#include "python/mro_lookup.h"
#include "tensor/ambient.h"
#include "tensor/tensor_snapshot.h"
#include "values/model/callers_objects.h"
#include "values/model/identity.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"
#include "values/types/numpy_values.h"
#include "values/types/texts.h"
#include "values/types/type_table.h"

namespace magneto::values {

using guards::SourceKind;

V Wrapping::lazy(PyObject* object, SourceId source) {
  return make({.kind = Kind::Lazy,
               .source = source,
               .type = Py_TYPE(object),
               .object = object});
}

V Wrapping::look_lazy(V value) {
  if (const V* found = looked_.find(value)) return *found;
  V looked = wrap(value->object, value->source, false);
  looked_.add(value, looked);
  return looked;
}

V Wrapping::simplified(V symbol) { return whole().symbols.simplified(symbol); }

V Wrapping::specialized(V open) {
  if (open->kind == Kind::Text) return known_text(whole(), open);
  if (open->kind != Kind::Function) return whole().symbols.specialized(open);
  guards.identity(open->source, open->object);
  return make({.kind = Kind::Constant,
               .source = open->source,
               .type = open->type,
               .object = open->object});
}

V Wrapping::looked_at(V value) const {
  const V* found = looked_.find(value);
  return found ? *found : value;
}

V Wrapping::fixed(PyObject* object) {
  if (guards::is_constant(object) || PyType_Check(object) ||
      PyCFunction_Check(object) ||
      PyType_IsSubtype(Py_TYPE(Py_TYPE(object)), torch_types().enum_meta))
    return constant_share(object);
  has_fixed_objects = true;
  return lazy(object, sources.constant(object));
}

V Wrapping::known(PyObject* object, SourceId source) {
  return wrap(object, source, true);
}

namespace {

// Objects for which a guard on their identity is enough.
bool is_identity_constant(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const TorchTypes& torch = torch_types();
  return PyType_Check(object) || PyFunction_Check(object) ||
         PyCFunction_Check(object) || PyModule_Check(object) ||
         type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
         type == &PyGetSetDescr_Type || type == &PyMemberDescr_Type ||
         type == &PyClassMethodDescr_Type || type == &PyCode_Type ||
         type == &PyProperty_Type || type == &PyStaticMethod_Type ||
         type == &PyClassMethod_Type || type == torch.dtype ||
         type == torch.layout || type == torch.memory_format ||
         type == &Py_GenericAliasType || type == torch.union_type ||
         type == torch.pattern || type == torch.match ||
         PyType_IsSubtype(Py_TYPE(type), torch.enum_meta) ||
         // Forward references remember what they were evaluated to.
         (PyType_IsSubtype(type, torch.typing_final) &&
          std::string_view(type->tp_name) != "ForwardRef") ||
         PyLong_Check(object) || PyUnicode_Check(object) ||
         PyFloat_Check(object) || PyBytes_Check(object);
}

}  // namespace

V Wrapping::wrap(PyObject* object, SourceId source, bool known) {
  MG_DCHECK(source.valid(), "an object of the caller's has a source");
  PyTypeObject* type = Py_TYPE(object);
  Context& ctx = whole();
  SymbolPolicy* const symbol_policy = ctx.symbol_policy;
  const bool may_vary = !known && symbol_policy;
  if (may_vary) {
    if (V number = ctx.symbols.wrap_number(object, source)) return number;
  }
  const bool varies =
      may_vary && is_numpy_number(type)
          ? symbol_policy->is_symbolic(object, source)
      : may_vary && (PyTuple_CheckExact(object) || type == torch_types().size)
          ? symbol_policy->has_symbolic_items(object, source)
          : false;
  if (guards::is_constant(object) && !varies) {
    if (may_vary && object != Py_None && !PyBool_Check(object) &&
        symbol_policy->has_enough_of_constant(source))
      ctx.symbols.leave_varying(source, sources.print(source));
    if (!known) guards.constant_equals(source, object);
    if (object == Py_None) return none_;
    return constant_share(object);
  }
  if (!known && type == &PyFunction_Type) {
    if (V function = wrap_function(object, source)) return function;
  }
  const bool is_of_identity =
      (is_identity_constant(object) && !is_numpy_number(type)) ||
      (is_cython_function(type) && ctx.natives->has(object));
  if (is_of_identity) {
    if (!known) guards.identity(source, object);
    keep(Ref::share(object));
    return make({.kind = Kind::Constant,
                 .source = source,
                 .type = type,
                 .object = object});
  }
  if (const V* found = seen_.find(object)) {
    if ((*found)->source != source)
      guards.same_object((*found)->source, source);
    return *found;
  }
  V made = nullptr;
  if (tensor::is_tensor(object))
    made = wrap_tensor(object, source);
  else if (const auto wrap_it = type_slot(&TypeRow::wrap, type))
    made = wrap_it(ctx, object, source);
  else if (V iterator = caller_iterator(ctx, object, source))
    made = iterator;
  else
    made = callers_object(ctx, Kind::Object, object, source);
  keep(Ref::share(object));
  seen_.add(object, made);
  return made;
}

namespace {

// "layers.0.weight" of self._modules['layers']._modules['0']._parameters[..].
std::string attribute_path(const guards::SourceTable& sources, SourceId id) {
  std::string path;
  while (id.valid()) {
    const guards::Source& step = sources[id];
    if ((step.kind == SourceKind::DictItem ||
         step.kind == SourceKind::InstanceAttr) &&
        step.object && PyUnicode_Check(step.object)) {
      const char* name = PyUnicode_AsUTF8(step.object);
      std::string_view view = name ? name : "";
      if (view != "_modules" && view != "_parameters" && view != "_buffers") {
        std::string longer(view);
        if (!path.empty()) longer.append(".").append(path);
        path = std::move(longer);
      }
    }
    id = step.base;
  }
  return path;
}

// Whether a class of tensors has a __torch_dispatch__ of its own. Gradients of
// what is computed with one may be of that class, and PyTorch's compilers ask
// for plain ones in the backward of a piece in front of that.
bool computes_itself(PyTypeObject* type) {
  static PyObject* const name =
      PyUnicode_InternFromString("__torch_dispatch__");
  return python::mro_lookup(type, name) !=
         python::mro_lookup(torch_types().tensor, name);
}

}  // namespace

V Wrapping::wrap_tensor(PyObject* object, SourceId source) {
  Context& ctx = whole();
  const TorchTypes& torch = torch_types();
  PyTypeObject* type = Py_TYPE(object);
  if (type != torch.tensor && type != torch.parameter && type != torch.buffer) {
    guards.ambient(guards::Ambient::GradMode);
    throw BreakException{
        {.reason = "tensor-subclass",
         .detail =
             std::string("a ") + type->tp_name + " at " + sources.print(source),
         .hint = "pass a plain torch.Tensor",
         .skips_calls = tensor::grad_mode() && computes_itself(type)}};
  }
  auto snapshot =
      std::make_shared<tensor::TensorSnapshot>(tensor::take_snapshot(object));
  std::string name = sources.torch_name(source);
  const std::optional<tensor::SymbolicShape> shape =
      ctx.symbols.shape_of(object, source, *snapshot);
  Ref fake = shape ? fakes.fake_of(object, ctx.symbols.environment(), *shape)
                   : fakes.fake_of(object);
  if (!fake) {
    PyErr_Clear();
    throw BreakException{{"tensor-kind",
                          "the tensor at " + sources.print(source) +
                              " is sparse, nested or otherwise not dense",
                          "pass dense tensors"}};
  }
  guards.tensor(source, snapshot);
  graph::InputSpec spec{.source = source.index, .source_name = name};
  std::string path;
  if (type == torch.parameter || name.find("._buffers[") != std::string::npos) {
    path = attribute_path(sources, source);
    spec.attribute_path = path;
    spec.kind = type == torch.parameter ? graph::InputKind::Parameter
                                        : graph::InputKind::Buffer;
  }
  // A tensor that the call brings is an input of the outermost graph.
  graph::Graph& root = tracer.root();
  const graph::NodeRef node{root.id(), root.placeholder(spec, fake.share())};
  TensorValue value{};
  value.source = source;
  value.type = type;
  value.object = object;
  V made = tensor(value, std::move(fake), node);
  given_tensors.add(made, std::move(snapshot));
  return made;
}

std::vector<V> Wrapping::items(V list) {
  const auto read_items = type_slot(&TypeRow::items, list);
  MG_CHECK(read_items, "a List is of a class with items");
  return read_items(whole(), list);
}

namespace {

// Whether the same piece of code may have made others like it: within another
// function; or in a loop at the top of a module, as a lambda or under a name
// that has been given to another one.
bool may_have_twins(PyObject* function) {
  const auto* real = reinterpret_cast<PyFunctionObject*>(function);
  const auto* code = reinterpret_cast<PyCodeObject*>(real->func_code);
  if (code->co_flags & CO_NESTED) return true;
  PyObject* name = code->co_qualname;
  // Functions of a class are found in the class.
  if (PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1) >= 0)
    return false;
  return PyDict_GetItemWithError(real->func_globals, name) != function;
}

}  // namespace

// Functions that the call brings are guarded by their code if there may be
// others with the same code. What is found from a fixed object is guarded by
// its identity, which takes one guard.
V Wrapping::wrap_function(PyObject* object, SourceId source) {
  SourceId root = source;
  while (sources[root].base.valid()) root = sources[root].base;
  const SourceKind kind = sources[root].kind;
  if ((kind != SourceKind::Local && kind != SourceKind::ClosureCell) ||
      whole().natives->has(object) || !may_have_twins(object))
    return nullptr;
  guards.type_is(source, &PyFunction_Type);
  keep(Ref::share(object));
  FunctionValue value{};
  value.kind = Kind::Function;
  value.source = source;
  value.type = &PyFunction_Type;
  value.object = object;
  return arena.make<FunctionValue>(value);
}

}  // namespace magneto::values
