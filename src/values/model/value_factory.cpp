// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/value_factory.h"

#include <algorithm>

#include "python/class_hierarchy.h"
#include "python/layout.h"
#include "python/sequences.h"
#include "python/types.h"
#include "values/model/context.h"
#include "values/torch/tensor_choice.h"
#include "values/types/aliases.h"

namespace magneto::values {

V Arguments::keyword(PyObject* name) const {
  for (size_t i = 0; i < keyword_names.size(); ++i)
    if (keyword_names[i] == name) return keyword_values[i];
  return nullptr;
}

Ref names_of(const Arguments& args) {
  if (!args.has_keywords()) return nullptr;
  Ref names = python::tuple_of(args.keyword_names);
  MG_CHECK(names, "out of memory");
  return names;
}

LateCall::LateCall(V callee, const Arguments& args)
    : function(callee), keywords(names_of(args)) {
  for (auto part : {args.positional, args.keyword_values})
    arguments.insert(arguments.end(), part.begin(), part.end());
}

ValueFactory::ValueFactory(Callers* callers) : TraceStores(callers) {
  null_ = make({.kind = Kind::Null});
  none_ = constant_share(Py_None);
  true_ = constant_share(Py_True);
  false_ = constant_share(Py_False);
}

Context& ValueFactory::whole() { return static_cast<Context&>(*this); }

bool ValueFactory::is_made_alias(PyObject* alias) const {
  return std::ranges::find(made_aliases_, alias) != made_aliases_.end();
}

V ValueFactory::make(Value value) {
  if (value.type) python::know_class(value.type);
  if (value.kind == Kind::Constant && PyType_Check(value.object))
    python::know_class(reinterpret_cast<PyTypeObject*>(value.object));
  return arena.make<Value>(value);
}

PyObject* ValueFactory::keep(Ref object) {
  kept_.push_back(std::move(object));
  return kept_.back().get();
}

V ValueFactory::constant(Ref object) {
  PyObject* kept = object.get();
  if (kept == Py_None && none_) return none_;
  if (kept == Py_True && true_) return true_;
  if (kept == Py_False && false_) return false_;
  keep(std::move(object));
  return make({.kind = Kind::Constant, .type = Py_TYPE(kept), .object = kept});
}

V ValueFactory::code_constant(PyObject* object) {
  if (object == Py_None) return none_;
  if (object == Py_True) return true_;
  if (object == Py_False) return false_;
  return make(
      {.kind = Kind::Constant, .type = Py_TYPE(object), .object = object});
}

V ValueFactory::integer(int64_t value) {
  const bool is_small = value >= -5 && value <= 256;
  if (is_small && integers_[value + 5]) return integers_[value + 5];
  Ref object = Ref::steal(PyLong_FromLongLong(value));
  MG_CHECK(object, "out of memory");
  V made = constant(std::move(object));
  if (is_small) integers_[value + 5] = made;
  return made;
}

V ValueFactory::string(std::string_view text) {
  Ref object = Ref::steal(PyUnicode_FromStringAndSize(
      text.data(), static_cast<Py_ssize_t>(text.size())));
  MG_CHECK(object, "text is UTF-8");
  return constant(std::move(object));
}

namespace {

// Whether a program that refers to a tuple may keep this item of it: not what
// may die, or what it makes anew.
bool may_be_kept(PyObject* object) {
  return !is_alias(object) &&
         !(PyType_Check(object) &&
           PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object),
                             Py_TPFLAGS_HEAPTYPE));
}

}  // namespace

V ValueFactory::tuple(std::span<const V> items, PyTypeObject* type) {
  if (type == &PyTuple_Type) {
    bool constant_items = true;
    for (V item : items)
      // Lazy items must stay unlooked at.
      // So must those with attributes of their own.
      constant_items = constant_items && item->kind == Kind::Constant &&
                       !item->source.valid() && !item->heap.valid() &&
                       may_be_kept(item->object);
    if (constant_items) {
      Ref object =
          Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
      MG_CHECK(object, "out of memory");
      for (size_t i = 0; i < items.size(); ++i)
        PyTuple_SET_ITEM(object.get(), static_cast<Py_ssize_t>(i),
                         Ref::share(items[i]->object).release());
      return constant(std::move(object));
    }
  }
  TupleValue value{};
  value.kind = Kind::Tuple;
  value.type = type;
  value.items = arena.copy(items);
  return make_tuple(value);
}

V ValueFactory::make_tuple(TupleValue value) {
  python::know_class(value.type);
  const bool has_attributes = python::has_dictionary(value.type);
  if (has_attributes) value.heap = heap.make();
  V made = arena.make<TupleValue>(value);
  if (has_attributes) heap.initial(made->heap).owner = made;
  return made;
}

V ValueFactory::object(PyTypeObject* type, Kind kind) {
  HeapId id = heap.make();
  V made = make({.kind = kind, .heap = id, .type = type});
  heap.initial(id).owner = made;
  return made;
}

V ValueFactory::list(std::span<const V> items, PyTypeObject* type) {
  V made = object(type, Kind::List);
  heap.initial(made->heap).items.assign(items.begin(), items.end());
  return made;
}

V ValueFactory::dict(PyTypeObject* type) {
  V made = object(type, Kind::Dict);
  heap.make_dict(made->heap, true);
  return made;
}

V ValueFactory::set(PyTypeObject* type) {
  V made = object(type, Kind::Set);
  heap.make_dict(made->heap, true);
  return made;
}

V ValueFactory::slice(V start, V stop, V step) {
  V parts[] = {start, stop, step};
  TupleValue value{};
  value.kind = Kind::Slice;
  value.type = &PySlice_Type;
  value.items = arena.copy(std::span<const V>(parts));
  return arena.make<TupleValue>(value);
}

V ValueFactory::cell(V content) {
  V made = object(&PyCell_Type, Kind::Cell);
  heap.initial(made->heap).slots = {content};
  return made;
}

V ValueFactory::method(V function, V self) {
  MethodValue value{};
  value.kind = Kind::BoundMethod;
  value.type = &PyMethod_Type;
  // What a method written in C becomes when it is bound.
  if (function->is_constant() &&
      (Py_IS_TYPE(function->object, &PyMethodDescr_Type) ||
       Py_IS_TYPE(function->object, &PyClassMethodDescr_Type)))
    value.type = &PyCFunction_Type;
  else if (function->is_constant() &&
           Py_IS_TYPE(function->object, &PyWrapperDescr_Type))
    value.type = python::method_wrapper_type();
  value.function = function;
  value.self = self;
  return arena.make<MethodValue>(value);
}

V ValueFactory::super(V type, V self) {
  MethodValue value{};
  value.kind = Kind::Super;
  value.type = &PySuper_Type;
  value.function = type;
  value.self = self;
  return arena.make<MethodValue>(value);
}

V ValueFactory::function(const FunctionValue& parts) {
  FunctionValue value = parts;
  value.kind = Kind::Function;
  value.type = &PyFunction_Type;
  value.heap = heap.make();
  V made = arena.make<FunctionValue>(value);
  heap.initial(value.heap).owner = made;
  return made;
}

V ValueFactory::tensor(Ref fake, graph::NodeRef node, PyTypeObject* type) {
  TensorValue value{};
  value.type = type;
  return tensor(value, std::move(fake), node);
}

V ValueFactory::tensor(TensorValue value, Ref fake, graph::NodeRef node) {
  value.kind = Kind::Tensor;
  value.heap = heap.make();
  value.fake = keep(std::move(fake));
  V made = arena.make<TensorValue>(value);
  heap.initial(value.heap).owner = made;
  heap.initial(value.heap).node = node;
  tensors_.add(value.fake, made);
  whole().symbols.remember_sizes(value.fake, node);
  return made;
}

V ValueFactory::tensor_of(PyObject* fake) const {
  const V* found = tensors_.find(fake);
  return found ? *found : nullptr;
}

V ValueFactory::iterator(PyTypeObject* type, std::span<const V> slots,
                         int64_t number, Kind kind) {
  V made = object(type, kind);
  HeapObject& state = heap.initial(made->heap);
  state.slots.assign(slots.begin(), slots.end());
  state.number = number;
  return made;
}

PyObject* ValueFactory::identity_token(V value) {
  if (is_chosen(whole(), value)) throw kTensorChoice;
  heap.touch(value->heap);
  if (PyObject* const* known = tokens_.find(value)) return *known;
  Ref token = Ref::steal(
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  MG_CHECK(token, "out of memory");
  PyObject* kept = keep(std::move(token));
  tokens_.add(value, kept);
  return kept;
}

}  // namespace magneto::values
