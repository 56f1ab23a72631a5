// SPDX-License-Identifier: BSD-3-Clause
// The state of each class, in the order of its heap slots:
//
//   enumerate           iterator, next index
//   zip                 iterators ...; number: strict
//   map                 function, iterators ...
//   filter              function, iterator
//   reversed and list's sequence; number: items left
//   dict views          dict
//   iterators of dicts  see dict_iterators.cpp
//   iterators of sets   see set_iterators.cpp
//   of itertools, and iter(function, sentinel)
//                       a State
//   functools.partial   function, tuple of arguments, dict of keywords
//   key of cmp_to_key   function; object, if it has one
//   operator.itemgetter, attrgetter, methodcaller
//                       the arguments that it was made with ...
//   collections.deque   a List; maxlen
//   defaultdict         a Dict; default_factory
//   random.Random       what _random.Random.getstate gives; None: see
//                       natives/library/random.cpp
//   property            fget, fset, fdel, the text
//   frame, traceback    see exceptions.h; the locals are filled in
#include "values/types/construction.h"

#include <algorithm>

#include "python/find.h"
#include "python/iterator_layout.h"
#include "python/layout.h"
#include "python/shown_frame.h"
#include "values/protocol/protocol.h"
#include "values/types/dict_iterators.h"
#include "values/types/exception_groups.h"
#include "values/types/exceptions.h"
#include "values/types/set_iterators.h"

namespace magneto::values {

namespace {

V attribute_of_module(Context& ctx, const char* module, const char* name) {
  Ref imported = import_module(module);
  MG_CHECK(imported, "a module of the standard library or of magneto's");
  Ref found = Ref::steal(PyObject_GetAttrString(imported, name));
  MG_CHECK(found, "a function that is there");
  return ctx.constant(std::move(found));
}

V attribute_of_class(Context& ctx, PyObject* type, const char* name) {
  Ref found = Ref::steal(PyObject_GetAttrString(type, name));
  MG_CHECK(found, "what the class has");
  return ctx.constant(std::move(found));
}

V class_value(Context& ctx, V value) {
  return ctx.constant_share(reinterpret_cast<PyObject*>(value->type));
}

// callable(*args, **keywords), through a helper: a Construction has positional
// arguments only.
Construction with_keywords(Context& ctx, V callable, V args, V keywords) {
  return {attribute_of_module(ctx, "magneto.construct", "call"),
          {callable, args, keywords}};
}

V method_of(Context& ctx, PyTypeObject* type, const char* name) {
  PyObject* method = PyDict_GetItemString(type->tp_dict, name);
  MG_CHECK(method, "a method of the class");
  return ctx.constant_share(method);
}

struct ViewRow {
  PyTypeObject* plain;
  PyTypeObject* ordered;
  const char* method;
};
const ViewRow kViews[] = {
    {&PyDictKeys_Type, &PyODictKeys_Type, "keys"},
    {&PyDictValues_Type, &PyODictValues_Type, "values"},
    {&PyDictItems_Type, &PyODictItems_Type, "items"},
};

Construction advanced(Context& ctx, V iterate, V iterable, int64_t count) {
  return {attribute_of_module(ctx, "magneto.construct", "advanced"),
          {iterate, iterable, ctx.integer(count)}};
}

Construction of_reversed(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  Construction made{ctx.constant_share(python::maker_of_reversed()),
                    {class_value(ctx, iterator),
                     ctx.integer(std::max<int64_t>(state.number, 0) - 1)}};
  if (state.number >= 0) made.positional.push_back(state.slots[0]);
  return made;
}

Construction of_dict_iterator(Context& ctx, const DictIteration& iteration) {
  const auto& [dict, part, backwards, passed] = iteration;
  if (part == DictPart::Keys) {
    PyTypeObject* kind =
        is_instance_of(dict, &PyODict_Type) ? &PyODict_Type : &PyDict_Type;
    return advanced(
        ctx, method_of(ctx, kind, backwards ? "__reversed__" : "__iter__"),
        dict, passed);
  }
  V view = dict_view(ctx, dict, part == DictPart::Items ? "items" : "values");
  return advanced(
      ctx,
      attribute_of_module(ctx, "builtins", backwards ? "reversed" : "iter"),
      view, passed);
}

Construction of_set_iterator(Context& ctx, const SetIteration& iteration) {
  PyTypeObject* kind = is_instance_of(iteration.set, &PySet_Type)
                           ? &PySet_Type
                           : &PyFrozenSet_Type;
  return advanced(ctx, method_of(ctx, kind, "__iter__"), iteration.set,
                  iteration.passed);
}

// A function and the state's parts, where the state's class says so.
Construction of_state(Context& ctx, V state) {
  PyObject* type = reinterpret_cast<PyObject*>(state->type);
  Ref real = Ref::steal(PyObject_GetAttrString(type, "real"));
  Ref parts = Ref::steal(PyObject_GetAttrString(type, "parts"));
  MG_CHECK(real && parts, "a state says how a real one is made");
  Construction made{ctx.constant(std::move(real)), {}};
  V attributes = attribute_mapping(ctx, state);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts.get()); ++i) {
    V part = dict_get_string(ctx, attributes, PyTuple_GET_ITEM(parts.get(), i));
    made.positional.push_back(part ? part : ctx.none());
  }
  return made;
}

// Of the module of the states; lives as long as the process, as that does.
PyObject* of_iterators_module(const char* name) {
  Ref module = import_module("magneto.polyfills.iterators");
  MG_CHECK(module, "a module of magneto's");
  PyObject* found = PyObject_GetAttrString(module, name);
  MG_CHECK(found, "what is there");
  return found;
}

bool is_class(PyTypeObject* type, const char* full_name) {
  return std::string_view(type->tp_name) == full_name;
}

// The class itself or the base class of that name; null if there is none.
PyTypeObject* base_class(PyTypeObject* type, const char* full_name) {
  while (type && !is_class(type, full_name)) type = type->tp_base;
  return type;
}

// What `base`, written in C, makes of the arguments: an instance of the value's
// class, without a __new__ or __init__ of the program's.
Construction instance_of(Context& ctx, V value, PyTypeObject* base,
                         std::vector<V> args) {
  if (value->type == base) return {class_value(ctx, value), std::move(args)};
  args.insert(args.begin(),
              {ctx.constant_share(reinterpret_cast<PyObject*>(base)),
               class_value(ctx, value)});
  return {attribute_of_module(ctx, "magneto.construct", "derived"),
          std::move(args)};
}

}  // namespace

bool is_outdated(const Context& ctx, V deque_iterator) {
  const auto& slots = ctx.heap[deque_iterator->heap].slots;
  return ctx.heap[slots[0]->heap].number != PyLong_AsLongLong(slots[1]->object);
}

namespace {

PyTypeObject* type_given() {
  static PyObject* const type = [] {
    Ref module = import_module("magneto.construct");
    MG_CHECK(module, "a module of magneto's");
    return PyObject_GetAttrString(module, "Given");
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

// Iterators that C code goes over: of the program's classes the very objects,
// which aren't asked for an iterator again.
std::vector<V> given(Context& ctx, std::vector<V> slots, size_t first) {
  for (size_t i = first; i < slots.size(); ++i)
    if (slots[i] && slots[i]->kind == Kind::Object)
      slots[i] = ctx.iterator(type_given(), {&slots[i], 1}, 0, Kind::Object);
  return slots;
}

}  // namespace

std::optional<Construction> construction(Context& ctx, V value) {
  if (!value->heap.valid()) return std::nullopt;
  const HeapObject& state = ctx.heap[value->heap];
  PyTypeObject* type = value->type;
  if (is_iterator_state(value)) return of_state(ctx, value);
  if (type == &PyZip_Type && state.number != 0) {
    V keywords = ctx.dict();
    Outcome<Done> set =
        dict_set(ctx, keywords, ctx.string("strict"), ctx.boolean(true));
    MG_CHECK(set, "a string is hashable");
    return with_keywords(ctx, class_value(ctx, value),
                         ctx.tuple(given(ctx, state.slots, 0)), keywords);
  }
  if (type == type_given())
    return Construction{class_value(ctx, value), state.slots};
  if (type == &PyEnum_Type || type == &PyZip_Type || type == &PyMap_Type ||
      type == &PyFilter_Type) {
    const bool has_function = type == &PyMap_Type || type == &PyFilter_Type;
    return Construction{class_value(ctx, value),
                        given(ctx, state.slots, has_function ? 1 : 0)};
  }
  if (type == &PyReversed_Type || type == &PyListRevIter_Type)
    return of_reversed(ctx, value);
  if (is_dict_iterator(value)) {
    auto iteration = dict_iteration(ctx, value);
    if (!iteration) return std::nullopt;
    if (iteration->passed < 0) {
      const bool ordered = is_instance_of(iteration->dict, &PyODict_Type);
      iteration->dict = ctx.dict(ordered ? &PyODict_Type : &PyDict_Type);
      iteration->passed = 0;
    }
    return of_dict_iterator(ctx, *iteration);
  }
  if (is_set_iterator(value)) {
    auto iteration = set_iteration(ctx, value);
    if (!iteration) return std::nullopt;
    if (iteration->passed < 0) iteration = {ctx.set(), 0};
    return of_set_iterator(ctx, *iteration);
  }
  for (const auto& [plain, ordered, name] : kViews)
    if (type == plain || type == ordered)
      return Construction{
          method_of(ctx, type == plain ? &PyDict_Type : &PyODict_Type, name),
          state.slots};
  if (type == &PyDictProxy_Type)
    return Construction{class_value(ctx, value), state.slots};
  // Of NumPy's: of a tensor (natives/torch/arrays.cpp).
  if (state.slots.size() == 1 && state.slots[0]->kind == Kind::Tensor &&
      std::string_view(type->tp_name) == "numpy.ndarray") {
    static PyObject* const numpy = find_object("torch._C.TensorBase.numpy");
    MG_CHECK(numpy, "tensors give arrays");
    return Construction{ctx.constant_share(numpy), state.slots};
  }
  if (is_class(type, "torch._C._InferenceMode"))
    return Construction{attribute_of_module(ctx, "torch.autograd.grad_mode",
                                            "_enter_inference_mode"),
                        state.slots};
  // Not through a __new__ or __init__ of the user's.
  if (is_exception_type(type) && is_group_type(type) && !state.slots.empty())
    return Construction{
        attribute_of_class(ctx, PyExc_BaseExceptionGroup, "__new__"),
        {class_value(ctx, value), state.slots[kMessage],
         state.slots[kExceptions]}};
  // Raised by C code, whose constructor tells the fields by the arguments.
  if (is_exception_type(type) && !state.slots.empty()) {
    std::vector<V> args;
    Status unpacked = unpack(ctx, state.slots[kArgs], args);
    MG_CHECK(unpacked, "a tuple can be unpacked");
    if (!has_own_fields(type, args.size(), false)) return std::nullopt;
    return Construction{class_value(ctx, value), args};
  }
  if (type == &PyFrame_Type)
    return Construction{ctx.constant_share(python::frame_maker()),
                        {state.slots.begin(), state.slots.begin() + kBack}};
  if (type == &PyTraceBack_Type)
    return Construction{class_value(ctx, value), state.slots};
  if (base_class(type, "functools.partial") && !state.slots.empty())
    return Construction{
        attribute_of_module(ctx, "magneto.construct", "partial"),
        {class_value(ctx, value), state.slots[0], state.slots[1],
         state.slots[2]}};
  if (type == python::comparison_key_type())
    return Construction{
        attribute_of_module(ctx, "magneto.construct", "comparison_key"),
        state.slots};
  if (is_class(type, "operator.itemgetter") ||
      is_class(type, "operator.attrgetter") ||
      is_class(type, "operator.methodcaller"))
    return Construction{class_value(ctx, value), state.slots};
  if (is_class(type, "_collections._deque_iterator") ||
      is_class(type, "_collections._deque_reverse_iterator"))
    return state.number < 0
               ? Construction{class_value(ctx, value),
                              {ctx.list({}, base_class(state.slots[0]->type,
                                                       "collections.deque"))}}
           : is_outdated(ctx, value)
               ? Construction{attribute_of_module(ctx, "magneto.construct",
                                                  "outdated_deque_iterator"),
                              {class_value(ctx, value), state.slots[2],
                               ctx.integer(state.number)}}
               : Construction{class_value(ctx, value),
                              {state.slots[0], ctx.integer(state.number)}};
  if (state.slots.empty()) return std::nullopt;
  if (base_class(type, "_random.Random"))
    return Construction{
        attribute_of_module(ctx, "magneto.construct", "random_generator"),
        {class_value(ctx, value), state.slots[0]}};
  if (PyTypeObject* base = base_class(type, "property"))
    return instance_of(ctx, value, base, state.slots);
  if (PyTypeObject* base = base_class(type, "collections.deque"))
    return instance_of(ctx, value, base, {ctx.tuple({}), state.slots[0]});
  if (PyTypeObject* base = base_class(type, "collections.defaultdict"))
    return instance_of(ctx, value, base, {state.slots[0]});
  return std::nullopt;
}

Construction sequence_iterator(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  return {attribute_of_module(ctx, "magneto.construct", "sequence_iterator"),
          {state.number < 0 ? ctx.none() : state.slots[0],
           ctx.integer(state.number)}};
}

V reversed_iterator(Context& ctx, V sequence, size_t left) {
  return ctx.iterator(sequence->kind == Kind::List &&
                              PyType_IsSubtype(sequence->type, &PyList_Type)
                          ? &PyListRevIter_Type
                          : &PyReversed_Type,
                      {&sequence, 1}, static_cast<int64_t>(left));
}

V dict_view(Context& ctx, V dict, std::string_view method) {
  const bool ordered = is_instance_of(dict, &PyODict_Type);
  PyTypeObject* type =
      method == "keys" ? (ordered ? &PyODictKeys_Type : &PyDictKeys_Type)
      : method == "values"
          ? (ordered ? &PyODictValues_Type : &PyDictValues_Type)
          : (ordered ? &PyODictItems_Type : &PyDictItems_Type);
  return ctx.iterator(type, {&dict, 1}, 0, Kind::Object);
}

bool is_iterator_state(V value) {
  static PyObject* const state_class = of_iterators_module("State");
  return value->kind == Kind::Object &&
         PyType_IsSubtype(value->type,
                          reinterpret_cast<PyTypeObject*>(state_class));
}

V iterator_state(Context& ctx, V iterator) {
  if (iterator->kind != Kind::Iterator) return nullptr;
  const auto& slots = ctx.heap[iterator->heap].slots;
  return !slots.empty() && is_iterator_state(slots[0]) ? slots[0] : nullptr;
}

PyObject* end_of_iterators() {
  static PyObject* const end = of_iterators_module("END");
  return end;
}

}  // namespace magneto::values
