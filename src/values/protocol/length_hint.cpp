// SPDX-License-Identifier: BSD-3-Clause
// list(x), tuple(x) and what does the same inside ask x how many items there
// are: code of the user's, which may do anything.
#include "python/names.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"

namespace magneto::values {

namespace {

// As PyObject_LengthHint: a TypeError says that it isn't known.
Status without_type_error(Context& ctx, Signal signal) {
  if (signal != Signal::Raised || !ctx.exception_is(PyExc_TypeError))
    return signal;
  (void)ctx.take_exception();
  return done;
}

Status ask_hint(Context& ctx, V object) {
  static PyObject* const name = PyUnicode_InternFromString("__length_hint__");
  MG_TRY(V method, special_method(ctx, object, name));
  if (!method) return done;
  Outcome<V> answer = call(ctx, method, {});
  if (!answer) return without_type_error(ctx, answer.signal());
  if (is_not_implemented(ctx, answer.value())) return done;
  V hint = ctx.look(answer.value());
  if (!hint->is_constant() || !PyLong_Check(hint->object))
    return ctx.raise(PyExc_TypeError,
                     std::string("__length_hint__ must be an integer, not ") +
                         hint->type->tp_name);
  const Py_ssize_t number = PyLong_AsSsize_t(hint->object);
  if (number == -1 && PyErr_Occurred()) return ctx.raise_from_python();
  if (number < 0)
    return ctx.raise(PyExc_ValueError, "__length_hint__() should return >= 0");
  return done;
}

Status ask_length(Context& ctx, V object) {
  MG_TRY(V method, special_method(ctx, object, interned().dunder_len));
  if (method) {
    Outcome<V> answer = length(ctx, object);
    if (answer) return done;
    MG_DO(without_type_error(ctx, answer.signal()));
  }
  return ask_hint(ctx, object);
}

// Whose length an iterator of C's asks for.
V asked_by(Context& ctx, V iterator) {
  if (is_begun(iterator)) return nullptr;
  const HeapObject& state = ctx.heap[iterator->heap];
  const bool asks = (iterator->type == &PyReversed_Type && state.number >= 0) ||
                    (iterator->type == &PySeqIter_Type && state.number >= 0);
  return asks ? state.slots[0] : nullptr;
}

// Whether code of the user's may answer.
bool may_answer(V object) {
  switch (object->kind) {
    case Kind::Constant:
    case Kind::Object:
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
      return PyType_HasFeature(object->type, Py_TPFLAGS_HEAPTYPE);
    default:
      return false;
  }
}

}  // namespace

Outcome<V> iterate_and_ask(Context& ctx, V iterable) {
  iterable = ctx.look(iterable);
  V asked = iterable;
  if (iterable->kind == Kind::Iterator) asked = asked_by(ctx, iterable);
  if (asked) asked = ctx.look(asked);
  MG_TRY(V iterator, iterate(ctx, iterable));
  if (asked && may_answer(asked)) MG_DO(ask_length(ctx, asked));
  return iterator;
}

namespace {

// Of which the items are taken as they are.
bool is_plain_sequence(V value) {
  return value->type == &PyList_Type || value->type == &PyTuple_Type;
}

}  // namespace

Status unpack_to_list(Context& ctx, V iterable, std::vector<V>& into) {
  iterable = ctx.look(iterable);
  if (is_plain_sequence(iterable)) return unpack(ctx, iterable, into);
  MG_TRY(V iterator, iterate_and_ask(ctx, iterable));
  return take_all(ctx, iterator, into);
}

Status take_keys(Context& ctx, V mapping, V method, std::vector<V>& into) {
  MG_TRY(V keys, call(ctx, method, {}));
  keys = ctx.look(keys);
  if (is_plain_sequence(keys)) return unpack(ctx, keys, into);
  MG_TRY(V iterator, iterator_or_error(ctx, iterate(ctx, keys), [&] {
           return std::string(mapping->type->tp_name) +
                  ".keys() returned a non-iterable (type " +
                  keys->type->tp_name + ")";
         }));
  return unpack_to_list(ctx, iterator, into);
}

Status list_extend(Context& ctx, V list, V iterable) {
  iterable = ctx.look(iterable);
  if (is_plain_sequence(iterable) || iterable == list) {
    // Of a derived class the own __iter__ is asked.
    if (!is_plain_sequence(iterable)) {
      MG_TRY(iterable, iterator_or_error(ctx, iterate(ctx, iterable), [] {
               return "argument must be iterable";
             }));
    }
    std::vector<V> items;
    MG_DO(unpack(ctx, iterable, items));
    if (!items.empty()) ctx.heap.extend(list->heap, items);
    return done;
  }
  // One by one: whoever yields them may look at the list, or raise.
  MG_TRY(V iterator, iterate_and_ask(ctx, iterable));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return done;
    ctx.heap.append(list->heap, item);
  }
}

}  // namespace magneto::values
