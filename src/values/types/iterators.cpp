// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/iterators.h"

#include <algorithm>

#include "python/find.h"
#include "python/iterator_layout.h"
#include "values/model/attribute_forever.h"
#include "values/protocol/protocol.h"
#include "values/types/caller_itertools.h"
#include "values/types/construction.h"
#include "values/types/set_iterators.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

PyTypeObject* state_type() {
  static PyObject* const type =
      attribute_forever("magneto.polyfills.iterators", "State");
  return reinterpret_cast<PyTypeObject*>(type);
}

PyTypeObject* given_type() {
  static PyObject* const type = attribute_forever("magneto.construct", "Given");
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

bool is_iterator_state(V value) {
  return value->kind == Kind::Object &&
         PyType_IsSubtype(value->type, state_type());
}

V iterator_state(Context& ctx, V iterator) {
  if (iterator->kind != Kind::Iterator) return nullptr;
  const auto& slots = ctx.heap[iterator->heap].slots;
  return !slots.empty() && is_iterator_state(slots[0]) ? slots[0] : nullptr;
}

PyObject* end_of_iterators() {
  static PyObject* const end =
      attribute_forever("magneto.polyfills.iterators", "END");
  return end;
}

Construction sequence_iterator(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  return by_helper(ctx, "sequence_iterator",
                   {state.number < 0 ? ctx.none() : state.slots[0],
                    ctx.integer(state.number)});
}

V reversed_iterator(Context& ctx, V sequence, size_t left) {
  return ctx.iterator(sequence->kind == Kind::List &&
                              PyType_IsSubtype(sequence->type, &PyList_Type)
                          ? &PyListRevIter_Type
                          : &PyReversed_Type,
                      {&sequence, 1}, static_cast<int64_t>(left));
}

namespace {

// The iterators that C code goes over, from that slot on: those of the
// program's classes are given as they are, and aren't asked for an iterator
// again.
std::vector<V> given(Context& ctx, V iterator, size_t first) {
  std::vector<V> slots = ctx.heap[iterator->heap].slots;
  for (size_t i = first; i < slots.size(); ++i)
    if (slots[i] && slots[i]->kind == Kind::Object)
      slots[i] = ctx.iterator(given_type(), {&slots[i], 1}, 0, Kind::Object);
  return slots;
}

std::optional<Construction> construct_enumerate(Context& ctx, V iterator) {
  return Construction{class_value(ctx, iterator), given(ctx, iterator, 0)};
}

std::optional<Construction> construct_with_function(Context& ctx, V iterator) {
  return Construction{class_value(ctx, iterator), given(ctx, iterator, 1)};
}

std::optional<Construction> construct_zip(Context& ctx, V iterator) {
  const bool is_strict = ctx.heap[iterator->heap].number != 0;
  std::vector<V> iterators = given(ctx, iterator, 0);
  if (!is_strict)
    return Construction{class_value(ctx, iterator), std::move(iterators)};
  V keywords = ctx.dict();
  const Status set =
      dict_set(ctx, keywords, ctx.string("strict"), ctx.boolean(true));
  MG_CHECK(set, "a string is hashable");
  return by_helper(
      ctx, "call",
      {class_value(ctx, iterator), ctx.tuple(iterators), keywords});
}

std::optional<Construction> construct_reversed(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  Construction made{ctx.constant_share(python::maker_of_reversed()),
                    {class_value(ctx, iterator),
                     ctx.integer(std::max<int64_t>(state.number, 0) - 1)}};
  if (state.number >= 0) made.positional.push_back(state.slots[0]);
  return made;
}

std::optional<Construction> construct_of_set(Context& ctx, V iterator) {
  auto iteration = set_iteration(ctx, iterator);
  if (!iteration) return std::nullopt;
  if (iteration->passed < 0) iteration = {ctx.set(), 0};
  PyTypeObject* type = is_instance_of(iteration->set, &PySet_Type)
                           ? &PySet_Type
                           : &PyFrozenSet_Type;
  return advanced(ctx, method_of(ctx, type, "__iter__"), iteration->set,
                  iteration->passed);
}

// A function and the state's parts, as the state's class says.
std::optional<Construction> construct_of_state(Context& ctx, V state) {
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

void replay_enumerate(Context& ctx, V iterator, StepWriter& writer) {
  writer.act(StepOp::SetEnumerate,
             {iterator, ctx.heap[iterator->heap].slots[1]});
}

// One that the caller had begun (caller_iterators.cpp).
void replay_steps(Context& ctx, V iterator, StepWriter& writer) {
  writer.act(StepOp::AdvanceIterator,
             {iterator, ctx.integer(ctx.heap[iterator->heap].number)});
}

}  // namespace

std::span<const TypeRow> iterator_types() {
  static const TypeRow rows[] = {
      {.type = &PyEnum_Type,
       .construct = construct_enumerate,
       .replay = replay_enumerate},
      {.type = &PyZip_Type, .construct = construct_zip},
      {.type = &PyMap_Type, .construct = construct_with_function},
      {.type = &PyFilter_Type, .construct = construct_with_function},
      {.type = &PyReversed_Type, .construct = construct_reversed},
      {.type = &PyListRevIter_Type, .construct = construct_reversed},
      {.type = &PySetIter_Type, .construct = construct_of_set},
      {.find_type = given_type, .construct = of_class},
      {.find_type = state_type,
       .derived = true,
       .construct = construct_of_state},
      {.kind = Kind::Iterator, .replay = replay_steps},
  };
  return rows;
}

}  // namespace magneto::values
