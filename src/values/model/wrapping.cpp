// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/wrapping.h"

#include <string_view>

#include "guards/guard.h"
#include "python/deque_layout.h"
#include "python/find.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/set_items.h"
#include "tensor/ambient.h"
#include "tensor/tensor_snapshot.h"
#include "values/model/callers_objects.h"
#include "values/model/identity.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"
#include "values/types/numpy_values.h"
#include "values/types/texts.h"

namespace magneto::values {

using guards::Reading;
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
  else if (PyTuple_Check(object))
    made = wrap_tuple(object, source);
  else if (PyList_Check(object))
    made = wrap_list(object, source);
  else if (PyDict_Check(object))
    made = wrap_mapping(object, source);
  else if (PyAnySet_Check(object))
    made = wrap_set(object, source);
  else if (python::is_deque(object))
    made = wrap_deque(object, source);
  else if (Py_IS_TYPE(object, &PyDictProxy_Type))
    made = wrap_mapping_proxy(object, source);
  else if (V iterator = caller_iterator(ctx, object, source))
    made = iterator;
  else if (type == &PyMethod_Type)
    made = wrap_method(object, source);
  else if (type == &PyCell_Type)
    made = wrap_cell(object, source);
  else {
    made = callers_object(whole(), Kind::Object, object, source);
  }
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

V Wrapping::wrap_tuple(PyObject* object, SourceId source) {
  guards.type_is(source, Py_TYPE(object));
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(object));
  guards.length(source, static_cast<Py_ssize_t>(count));
  std::vector<V> items(count);
  for (size_t i = 0; i < count; ++i)
    items[i] = lazy(PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i)),
                    sources.tuple_item(source, i));
  TupleValue value{};
  value.kind = Kind::Tuple;
  value.source = source;
  value.type = Py_TYPE(object);
  value.object = object;
  value.items = arena.copy(std::span<const V>(items));
  return make_tuple(value);
}

V Wrapping::wrap_list(PyObject* object, SourceId source) {
  V made = callers_object(whole(), Kind::List, object, source);
  heap.initial(made->heap).is_unread = true;
  return made;
}

V Wrapping::wrap_deque(PyObject* object, SourceId source) {
  V made = wrap_list(object, source);
  const Py_ssize_t limit = python::deque_limit(object);
  guards.deque_limit(source, limit);
  heap.initial(made->heap).slots = {limit < 0 ? none() : integer(limit)};
  return made;
}

namespace {

// The items that a caller's deque still has after what the trace has appended.
std::vector<V> deque_items(Context& ctx, V deque) {
  const auto count = static_cast<size_t>(Py_SIZE(deque->object));
  ctx.guards.length(deque->source, static_cast<Py_ssize_t>(count));
  const Py_ssize_t limit = python::deque_limit(deque->object);
  const size_t all = count + ctx.heap[deque->heap].items.size();
  const size_t excess = limit < 0 || all <= static_cast<size_t>(limit)
                            ? 0
                            : std::min(count, all - static_cast<size_t>(limit));
  std::vector<V> items;
  for (size_t i = 0; i < count; ++i) {
    V item =
        ctx.lazy(python::deque_item(deque->object, static_cast<Py_ssize_t>(i)),
                 ctx.sources.deque_item(deque->source, i));
    if (i < excess)
      ctx.check_drop(item);
    else
      items.push_back(item);
  }
  return items;
}

}  // namespace

std::vector<V> Wrapping::items(V list) {
  if (!PyList_Check(list->object)) return deque_items(whole(), list);
  const auto count = static_cast<size_t>(PyList_GET_SIZE(list->object));
  guards.length(list->source, static_cast<Py_ssize_t>(count));
  std::vector<V> items(count);
  for (size_t i = 0; i < count; ++i)
    items[i] = lazy(PyList_GET_ITEM(list->object, static_cast<Py_ssize_t>(i)),
                    sources.list_item(list->source, i));
  return items;
}

namespace {

// Whether an object is equal only to itself, although Python code hashes it.
bool is_enum_member(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return PyType_IsSubtype(Py_TYPE(type), torch_types().enum_meta) &&
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

}  // namespace

V Wrapping::wrap_set(PyObject* object, SourceId source) {
  V made = callers_object(whole(), Kind::Set, object, source);
  const HeapId id = made->heap;
  heap.make_dict(id, true);
  // In the set's own order, without calling an __iter__ written in Python.
  python::SetItems items(object);
  while (PyObject* item = items.next()) {
    if (!guards::is_plain_key(item) && !PyCFunction_Check(item) &&
        !is_enum_member(item))
      throw BreakException{
          {"set-item",
           std::string("a set that holds a ") + Py_TYPE(item)->tp_name,
           "use strings or numbers as items"}};
    V value = fixed(item);
    heap.dict_initial(id, value, value, Ref::share(item));
  }
  Ref frozen = Ref::steal(PyFrozenSet_New(object));
  MG_CHECK(frozen, "out of memory");
  guards.set_items(source, frozen);
  return made;
}

V Wrapping::wrap_mapping_proxy(PyObject* object, SourceId source) {
  Reading target = guards::read_field(SourceKind::MappingProxyTarget, object);
  MG_CHECK(target.is_present(), "a proxy shows something");
  V made = callers_object(whole(), Kind::Object, object, source);
  heap.initial(made->heap).slots = {lazy(
      target.value(), sources.field(source, SourceKind::MappingProxyTarget))};
  return made;
}

V Wrapping::wrap_method(PyObject* object, SourceId source) {
  guards.type_is(source, &PyMethod_Type);
  MethodValue value{};
  value.kind = Kind::BoundMethod;
  value.source = source;
  value.type = &PyMethod_Type;
  value.object = object;
  value.function = lazy(PyMethod_GET_FUNCTION(object),
                        sources.field(source, SourceKind::MethodFunction));
  value.self = lazy(PyMethod_GET_SELF(object),
                    sources.field(source, SourceKind::MethodSelf));
  return arena.make<MethodValue>(value);
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

V Wrapping::wrap_cell(PyObject* object, SourceId source) {
  V made = callers_object(whole(), Kind::Cell, object, source);
  SourceId contents = sources.cell_contents(source);
  PyObject* content = PyCell_GET(object);
  if (content == nullptr)
    guards.absent(contents);
  else
    guards.present(contents);
  heap.initial(made->heap).slots = {content ? lazy(content, contents) : null_};
  return made;
}

}  // namespace magneto::values
