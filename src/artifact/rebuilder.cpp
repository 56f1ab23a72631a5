// SPDX-License-Identifier: BSD-3-Clause
#include "artifact/rebuilder.h"

#include "artifact/island.h"
#include "python/bind.h"
#include "python/call_layout.h"
#include "python/code_object.h"
#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "shapes/environment.h"
#include "support/check.h"
#include "support/stack_room.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"
#include "values/types/aliases.h"
#include "values/types/iterators.h"

namespace magneto::artifact {

using guards::SourceId;
using values::as;
using values::DictEntry;
using values::HeapObject;
using values::Kind;
using values::V;

namespace {

// Constants that a program may keep: plain data that refers to nothing else.
bool is_plain_constant(PyObject* object) {
  return object == Py_None || object == Py_Ellipsis ||
         object == Py_NotImplemented || PyBool_Check(object) ||
         PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyComplex_CheckExact(object);
}

}  // namespace

// -- where values come from ---------------------------------------------------

Operand Rebuilder::from_source(SourceId source) {
  auto [found, is_new] = inputs_.try_emplace(source, plan_.requests.size());
  if (is_new) plan_.requests.push_back({.source = source});
  return builder_.input(found->second);
}

// A class that the user's program makes, and the members of an enumeration, die
// with that program: the guards refer to them weakly.
Operand Rebuilder::known(PyObject* object) {
  const bool is_member = PyType_IsSubtype(Py_TYPE(Py_TYPE(object)),
                                          values::torch_types().enum_meta);
  const bool may_die =
      is_member || (PyType_Check(object) &&
                    PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object),
                                      Py_TPFLAGS_HEAPTYPE));
  return may_die ? from_source(ctx_.sources.constant(object))
                 : builder_.constant(object);
}

// A generic alias or a union of classes: once, however many values stand for
// it.
Operand Rebuilder::alias(PyObject* object) {
  auto found = aliases_.find(object);
  if (found != aliases_.end()) return found->second;
  const auto how = values::alias_construction(ctx_, object);
  const Operand made = how ? make_by_call(*how) : known(object);
  aliases_.emplace(object, made);
  return made;
}

Operand Rebuilder::class_of(PyObject* type) {
  return ctx_.is_made_alias(type) ? alias(type) : known(type);
}

// Known when the guards have run, or computed by the graph.
Operand Rebuilder::of_number(shapes::E number) {
  number = ctx_.symbols.environment()->simplify(number);
  if (number->is_constant())
    return builder_.constant(
        tensor::symbol_object(ctx_.symbols.environment(), number));
  // Of an unbacked size more than itself is for the graph, which may raise.
  const bool is_given =
      (number->is_symbol() &&
       ctx_.symbols.environment()->symbol(number->symbol).is_given) ||
      ctx_.symbols.comes_of_draws(number);
  if (!is_given && ctx_.symbols.environment()->has_unbacked(number))
    return of_node(ctx_.symbols.argument(number).node());
  auto [found, is_new] = numbers_.try_emplace(number, plan_.requests.size());
  if (is_new) plan_.requests.push_back({.number = number});
  return builder_.input(found->second);
}

Operand Rebuilder::of_node(graph::NodeId node) {
  MG_CHECK(node.valid(), "a tensor that the trace made has a node");
  auto [found, is_new] = output_of_.try_emplace(node, outputs_.size());
  if (is_new) outputs_.push_back(graph::Arg(node));
  return builder_.graph_output(found->second);
}

Operand Rebuilder::build(V value) {
  MG_CHECK(value && !value->is_null(), "NULL can't be rebuilt");
  if (value->is_constant() && PyType_Check(value->object) &&
      ctx_.is_made_alias(value->object))
    return alias(value->object);
  if (value->kind == Kind::Constant && !value->heap.valid() &&
      (is_plain_constant(value->object) || !value->source.valid())) {
    return values::is_alias(value->object) ? alias(value->object)
                                           : known(value->object);
  }
  if (value->source.valid()) return from_source(value->source);
  auto found = built_.find(value);
  if (found != built_.end()) return found->second;
  if (!has_stack_room())
    cannot_rebuild("an object with so many others inside of each other");
  ctx_.heap.touch(value->heap);
  Operand made = make_new(value);
  built_.emplace(value, made);
  return made;
}

Operand Rebuilder::build_or_null(V value) {
  return value && !value->is_null() ? build(value)
                                    : builder_.constant(null_token());
}

std::vector<Operand> Rebuilder::build_all(std::span<const V> values) {
  std::vector<Operand> built;
  built.reserve(values.size());
  for (V value : values) built.push_back(build(value));
  return built;
}

// -- making -------------------------------------------------------------------

Operand Rebuilder::make_new(V value) {
  switch (value->kind) {
    case Kind::Symbol:
      return of_number(as<values::SymbolValue>(value)->number);
    case Kind::Text:
      return make_text(value);
    case Kind::Tensor:
      to_fill_.push_back(value);
      return of_node(ctx_.tracer.lift(ctx_.heap[value->heap].node));
    case Kind::Tuple:
      return make_tuple(value);
    case Kind::Slice:
      return builder_.make(StepOp::MakeSlice,
                           build_all(values::tuple_items(value)));
    case Kind::Object:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
      return make_container(value);
    case Kind::Cell:
      to_fill_.push_back(value);
      return builder_.make(StepOp::MakeCell, {});
    case Kind::Function:
      return make_function(value);
    case Kind::BoundMethod: {
      const auto* method = as<values::MethodValue>(value);
      if (value->type != &PyMethod_Type) return make_bound(*method);
      return builder_.make(StepOp::MakeMethod,
                           {build(method->function), build(method->self)});
    }
    case Kind::Super: {
      const auto* super = as<values::MethodValue>(value);
      return builder_.make(
          StepOp::CallFunction,
          {builder_.constant(reinterpret_cast<PyObject*>(&PySuper_Type)),
           build(super->function), build(super->self)});
    }
    case Kind::Iterator:
      return make_iterator(value);
    case Kind::Generator:
      return make_generator(value);
    case Kind::Constant:
      return make_of_plain(value);
    case Kind::Null:
    case Kind::Lazy:
      break;
  }
  MG_CHECK(false, "a value of this kind has a source");
}

// Operands are made before the step that takes them.
Operand Rebuilder::make_text(V value) {
  static PyObject* const format = original_builtin("format");
  static PyObject* const join = [] {
    Ref empty = Ref::steal(PyUnicode_New(0, 0));
    return empty ? PyObject_GetAttrString(empty, "join") : nullptr;
  }();
  MG_CHECK(format && join, "Python's own functions");
  std::vector<Operand> parts;
  for (const values::TextPart& part : as<values::TextValue>(value)->parts) {
    const Operand made = build(part.value);
    if (part.value->is_constant()) {
      parts.push_back(made);
      continue;
    }
    std::vector<Operand> operands{builder_.constant(format), made};
    if (part.format) operands.push_back(builder_.constant(part.format));
    parts.push_back(builder_.make(StepOp::CallFunction, operands));
  }
  if (parts.size() == 1) return parts[0];
  return builder_.make(
      StepOp::CallFunction,
      {builder_.constant(join), builder_.make(StepOp::MakeTuple, parts)});
}

const values::SuspendedFrame& Rebuilder::suspended(V generator) const {
  const auto number = static_cast<size_t>(ctx_.heap[generator->heap].number);
  return capture_.generators[number];
}

Operand Rebuilder::make_generator(V value) {
  const values::SuspendedFrame& frame = suspended(value);
  to_fill_.push_back(value);
  return builder_.make(
      StepOp::MakeGenerator,
      {builder_.constant(reinterpret_cast<PyObject*>(frame.code)),
       globals(frame.globals)});
}

// A method written in C, bound: as its descriptor does it (see
// python::bind_in_c).
Operand Rebuilder::make_bound(const values::MethodValue& method) {
  Ref get = Ref::steal(PyObject_GetAttr(
      reinterpret_cast<PyObject*>(Py_TYPE(method.function->object)),
      interned().dunder_get));
  MG_CHECK(get, "what binds methods");
  if (Py_IS_TYPE(method.function->object, &PyClassMethodDescr_Type))
    return builder_.make(
        StepOp::CallFunction,
        {builder_.constant(std::move(get)), build(method.function),
         builder_.constant(Py_None), build(method.self)});
  // Whose __get__, called with None, binds nothing.
  if (method.self->object == Py_None) {
    Ref bound = python::bind_in_c(method.function->object, Py_None);
    MG_CHECK(bound, "None has the method");
    return builder_.constant(std::move(bound));
  }
  // Some are bound only where the class is given, too (METH_METHOD).
  return builder_.make(
      StepOp::CallFunction,
      {builder_.constant(std::move(get)), build(method.function),
       build(method.self), type_of(method.self)});
}

// An instance of a class derived from int, str and the like.
Operand Rebuilder::make_of_plain(V value) {
  to_fill_.push_back(value);
  V plain = ctx_.heap[value->heap].slots[0];
  Ref maker = Ref::steal(PyObject_GetAttr(
      reinterpret_cast<PyObject*>(plain->type), interned().dunder_new));
  MG_CHECK(maker, "every class has __new__");
  return builder_.make(
      StepOp::CallFunction,
      {builder_.constant(std::move(maker)), type_of(value), build(plain)});
}

Operand Rebuilder::make_tuple(V value) {
  std::vector<Operand> items = build_all(values::tuple_items(value));
  if (value->heap.valid()) to_fill_.push_back(value);
  if (value->type == &PyTuple_Type)
    return builder_.make(StepOp::MakeTuple, items);
  items.insert(items.begin(), type_of(value));
  return builder_.make(StepOp::MakeTupleOf, items);
}

std::optional<values::Construction> Rebuilder::construction(V value) {
  const auto construct = values::type_slot(&values::TypeRow::construct, value);
  return construct && value->heap.valid() ? construct(ctx_, value)
                                          : std::nullopt;
}

Operand Rebuilder::make_container(V value) {
  const HeapObject& state = ctx_.heap[value->heap];
  // An object's __dict__ itself.
  if (state.attributes_of.valid()) {
    // Without what its class does when attributes are read.
    PyObject* read =
        python::mro_lookup(&PyBaseObject_Type, interned().dunder_getattribute);
    return builder_.make(
        StepOp::CallFunction,
        {builder_.constant(Ref::share(read)),
         build(ctx_.heap[state.attributes_of].owner),
         builder_.constant(Ref::share(interned().dunder_dict))});
  }
  // A frozen set is made with its items; it can't contain itself.
  if (value->kind == Kind::Set &&
      PyType_IsSubtype(value->type, &PyFrozenSet_Type)) {
    to_fill_.push_back(value);
    std::vector<Operand> items;
    if (value->type != &PyFrozenSet_Type) items.push_back(type_of(value));
    for (const DictEntry& entry : state.dict->entries)
      if (entry.value) items.push_back(build(entry.key));
    return builder_.make(value->type == &PyFrozenSet_Type
                             ? StepOp::MakeFrozenSet
                             : StepOp::MakeTupleOf,
                         items);
  }
  if (values::is_iterator_state(value)) return make_iterator(value);
  // What C code keeps of it; its items and attributes are filled in.
  const auto how = construction(value);
  const bool hashes = value->kind == Kind::Dict || value->kind == Kind::Set;
  (hashes ? to_fill_last_ : to_fill_).push_back(value);
  if (value->type == &PyList_Type) return builder_.make(StepOp::MakeList, {});
  if (value->type == &PyDict_Type) return builder_.make(StepOp::MakeDict, {});
  if (value->type == &PySet_Type) return builder_.make(StepOp::MakeSet, {});
  if (how) return make_by_call(*how);
  return builder_.make(StepOp::MakeInstance, {type_of(value)});
}

Operand Rebuilder::make_by_call(const values::Construction& how) {
  std::vector<Operand> operands{build(how.callable)};
  for (V value : how.positional) operands.push_back(build_filled(value));
  return builder_.make(StepOp::CallFunction, operands);
}

void Rebuilder::call_late(StepOp how, const values::LateCall& call) {
  Ref names =
      call.keywords ? call.keywords.share() : Ref::steal(PyTuple_New(0));
  std::vector<Operand> operands{build(call.function),
                                builder_.constant(std::move(names))};
  for (V value : call.arguments) operands.push_back(build(value));
  builder_.act(how, operands);
}

void Rebuilder::make_arguments(const values::LateCall& call) {
  if (call.unwritten &&
      tensor::version(values::fake_of(call.unwritten)) != call.version)
    cannot_rebuild("a hook of a tensor that is written to after it");
  for (V value : call.arguments) build(value);
}

Operand Rebuilder::make_function(V value) {
  const auto* function = as<values::FunctionValue>(value);
  to_fill_.push_back(value);
  return builder_.make(
      StepOp::MakeFunction,
      {builder_.constant(reinterpret_cast<PyObject*>(function->code)),
       globals(function->globals), text(function->code->co_qualname)});
}

Operand Rebuilder::make_iterator(V value) {
  if (!in_progress_.insert(value).second)
    cannot_rebuild("an iterator in the container that it goes over");
  const HeapObject& state = ctx_.heap[value->heap];
  PyTypeObject* type = value->type;
  // What the number counts is the same for all of these.
  const bool in_order = values::goes_by_position(type);
  if (V inside = values::iterator_state(ctx_, value)) return build(inside);
  if (auto how = construction(value)) return make_by_call(*how);
  if (!in_order)
    cannot_rebuild(std::string("a ") + type->tp_name + " that was started");
  if (state.slots[0]->kind == Kind::Object)
    return make_by_call(values::sequence_iterator(ctx_, value));
  Operand container = build_filled(state.slots[0]);
  // -1: at the end, wherever that is.
  const Py_ssize_t position =
      state.number < 0 ? PY_SSIZE_T_MAX : static_cast<Py_ssize_t>(state.number);
  return builder_.make(
      StepOp::MakeIterator,
      {container, builder_.constant(Ref::steal(PyLong_FromSsize_t(position)))});
}

Operand Rebuilder::build_filled(V value) {
  Operand built = build(value);
  const bool is_container = value->kind == Kind::List ||
                            value->kind == Kind::Dict ||
                            value->kind == Kind::Set;
  if (!is_container || !value->heap.valid()) return built;
  // The dictionary of an object's attributes is filled with the object.
  const HeapObject& state = ctx_.heap[value->heap];
  V owner = state.attributes_of.valid() ? ctx_.heap[state.attributes_of].owner
                                        : value;
  if (owner->source.valid())
    replay_(value->heap);
  else if (built_.contains(owner))
    fill(owner);
  return built;
}

void Rebuilder::expect_no_finalizers() {
  std::unordered_set<size_t> rebuilt;
  for (const auto& [value, operand] : built_)
    if (value->kind == Kind::Generator)
      rebuilt.insert(static_cast<size_t>(ctx_.heap[value->heap].number));
  for (size_t i = 0; i < capture_.generators.size(); ++i) {
    const values::SuspendedFrame& frame = capture_.generators[i];
    if (frame.has_finalizer && !rebuilt.contains(i))
      cannot_rebuild(std::string("a generator of ") +
                     PyUnicode_AsUTF8(frame.code->co_qualname) +
                     ", left inside of a with or try block");
  }
}

Operand Rebuilder::filler(PyCodeObject* code, size_t index, size_t operand) {
  const bytecode::Op op = python::decoded(code)[static_cast<int32_t>(index)].op;
  if (op == bytecode::Op::CallFunctionEx && operand == python::kArgumentsOfEx)
    return builder_.make(StepOp::MakeTuple, {});
  if (op == bytecode::Op::CallFunctionEx && operand == python::kKeywordsOfEx)
    return builder_.make(StepOp::MakeDict, {});
  return builder_.constant(Py_None);
}

}  // namespace magneto::artifact
