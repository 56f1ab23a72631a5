// SPDX-License-Identifier: BSD-3-Clause
// Iteration. An iterator is a heap object of CPython's iterator class for the
// container: slot 0 is what it goes over, its number is the position, -1 at the
// end. Iterators of C classes with more to them (zip, map, itertools) have rows
// in the natives' tables.
#include "python/iterator_layout.h"
#include "python/names.h"
#include "python/types.h"
#include "tensor/ambient.h"
#include "values/protocol/protocol.h"
#include "values/types/dict_iterators.h"
#include "values/types/exceptions.h"
#include "values/types/set_iterators.h"

namespace magneto::values {

namespace {

V over(Context& ctx, PyTypeObject* type, V container) {
  return ctx.iterator(type, {&container, 1});
}

Signal not_iterable(Context& ctx, PyTypeObject* type) {
  return ctx.raise(PyExc_TypeError, std::string("'") + type->tp_name +
                                        "' object is not iterable");
}

}  // namespace

bool is_sequence_type(Context& ctx, PyTypeObject* type) {
  (void)type_lookup(ctx, type, interned().dunder_getitem);
  return type->tp_as_sequence && type->tp_as_sequence->sq_item &&
         !PyType_HasFeature(type, Py_TPFLAGS_DICT_SUBCLASS);
}

bool is_mapping_type(Context& ctx, PyTypeObject* type) {
  (void)type_lookup(ctx, type, interned().dunder_getitem);
  return type->tp_as_mapping && type->tp_as_mapping->mp_subscript;
}

bool is_iterable(Context& ctx, PyTypeObject* type) {
  (void)type_lookup(ctx, type, interned().dunder_iter);
  return type->tp_iter || is_sequence_type(ctx, type);
}

namespace {

Outcome<V> finish(Context& ctx, V iterator) {
  if (ctx.heap[iterator->heap].number != -1)
    ctx.heap.set_number(iterator->heap, -1);
  return nullptr;
}

Outcome<V> next_of_range(Context& ctx, V iterator, PyObject* range,
                         int64_t position) {
  // Ranges beyond 64 bits go through CPython's own arithmetic.
  Ref item = Ref::steal(PySequence_GetItem(range, position));
  if (!item) {
    if (!PyErr_ExceptionMatches(PyExc_IndexError))
      return ctx.raise_from_python();
    PyErr_Clear();
    return finish(ctx, iterator);
  }
  ctx.heap.set_number(iterator->heap, position + 1);
  return ctx.constant(std::move(item));
}

}  // namespace

namespace {

// What an __iter__ gives must be an iterator.
Outcome<V> checked_iterator(Context& ctx, V made) {
  made = ctx.look(made);
  if (made->kind == Kind::Iterator || made->kind == Kind::Generator)
    return made;
  (void)type_lookup(ctx, made->type, interned().dunder_next);
  if (python::has_next(made->type)) return made;
  return ctx.raise(PyExc_TypeError,
                   std::string("iter() returned non-iterator of type '") +
                       made->type->tp_name + "'");
}

}  // namespace

Outcome<V> iterate(Context& ctx, V iterable) {
  iterable = ctx.look(iterable);
  if (iterable->kind == Kind::Iterator || iterable->kind == Kind::Generator)
    return iterable;
  PyTypeObject* type = iterable->type;
  if (iterable->kind != Kind::Tensor) {
    PyObject* found = own_special(ctx, type, interned().dunder_iter);
    if (found == Py_None) return not_iterable(ctx, type);
    if (found) {
      MG_TRY(V method, bind_descriptor(ctx, found, iterable, type,
                                       interned().dunder_iter));
      MG_TRY(V made, call(ctx, method, {}));
      return checked_iterator(ctx, made);
    }
  }
  return plain_iterate(ctx, iterable);
}

namespace {

// A tensor's rows, all taken when the iteration begins, as Tensor.__iter__
// does.
Outcome<V> tensor_rows(Context& ctx, V tensor) {
  std::vector<V> rows;
  MG_TRY(V size, first_size(ctx, tensor));
  const int64_t count = PyLong_AsLongLong(ctx.look(size)->object);
  // Several views of one operation can't be written to, if they have a history.
  ctx.guards.ambient(guards::Ambient::GradMode);
  if (tensor::requires_grad(fake_of(tensor)) && tensor::grad_mode()) {
    V operands[] = {tensor, ctx.integer(0)};
    return record_method(ctx, interned().unbind, {.positional = operands});
  }
  for (int64_t i = 0; i < count; ++i) {
    MG_TRY(V row, get_item(ctx, tensor, ctx.integer(i)));
    rows.push_back(row);
  }
  TupleValue all{};
  all.kind = Kind::Tuple;
  all.type = &PyTuple_Type;
  all.items = ctx.arena.copy(std::span<const V>(rows));
  return ctx.arena.make<TupleValue>(all);
}

PyTypeObject* type_of_text_iterator(PyObject* text) {
  // A derived class's isn't compact.
  return PyBytes_Check(text)                ? &PyBytesIter_Type
         : PyUnicode_IS_COMPACT_ASCII(text) ? python::ascii_iterator()
                                            : &PyUnicodeIter_Type;
}

}  // namespace

bool goes_by_position(PyTypeObject* type) {
  return type == &PyListIter_Type || type == &PyTupleIter_Type ||
         type == &PyRangeIter_Type || type == &PySeqIter_Type ||
         type == python::ascii_iterator() || type == &PyUnicodeIter_Type ||
         type == &PyBytesIter_Type;
}

Outcome<V> plain_iterate(Context& ctx, V iterable) {
  PyTypeObject* type = iterable->type;
  switch (iterable->kind) {
    case Kind::Tuple:
      return over(ctx, &PyTupleIter_Type, iterable);
    case Kind::List:
      // A deque has an iterator of its own.
      if (!PyType_IsSubtype(type, &PyList_Type)) break;
      return over(ctx, &PyListIter_Type, iterable);
    case Kind::Dict:
      return dict_iterator(ctx, iterable, DictPart::Keys);
    case Kind::Set:
      return set_iterator(ctx, iterable);
    case Kind::Tensor: {
      if (tensor::dim(fake_of(iterable)) == 0)
        return ctx.raise(PyExc_TypeError, "iteration over a 0-d tensor");
      MG_TRY(V rows, tensor_rows(ctx, iterable));
      return over(ctx, &PyTupleIter_Type, rows);
    }
    case Kind::Constant: {
      PyObject* object = iterable->object;
      if (PyTuple_Check(object)) return over(ctx, &PyTupleIter_Type, iterable);
      if (PyRange_Check(object)) return over(ctx, &PyRangeIter_Type, iterable);
      if (PyUnicode_Check(object) || PyBytes_Check(object))
        return over(ctx, type_of_text_iterator(object), iterable);
      if (PyType_Check(object) &&
          own_special(ctx, type, interned().dunder_getitem))
        return over(ctx, &PySeqIter_Type, iterable);
      if (PyFrozenSet_CheckExact(object)) return set_iterator(ctx, iterable);
      if (PyFrozenSet_Check(object) || PyType_Check(object) ||
          Py_IS_TYPE(object, &PyDictProxy_Type)) {
        // An enum class: its members; other classes aren't iterable.
        Ref items = Ref::steal(PySequence_Tuple(object));
        if (!items) return ctx.raise_from_python();
        return over(ctx, &PyTupleIter_Type, ctx.constant(std::move(items)));
      }
      break;
    }
    default:
      break;
  }
  MG_TRY(V iterator, call_special(ctx, iterable, interned().dunder_iter, {}));
  if (iterator) return iterator;
  // Those whose items have other keys aren't sequences.
  if (is_sequence_type(ctx, type)) return over(ctx, &PySeqIter_Type, iterable);
  return not_iterable(ctx, type);
}

Outcome<V> unless_stopped(Context& ctx, Outcome<V> item, V* ended) {
  if (item || item.signal() != Signal::Raised ||
      !ctx.exception_is(PyExc_StopIteration))
    return item;
  *ended = exception_field(ctx, ctx.take_exception(), interned().value);
  return nullptr;
}

namespace {

// Without a subclass's __len__.
Py_ssize_t own_size(PyObject* sequence) {
  if (PyTuple_Check(sequence)) return PyTuple_GET_SIZE(sequence);
  if (PyUnicode_Check(sequence)) return PyUnicode_GET_LENGTH(sequence);
  if (PyBytes_Check(sequence)) return PyBytes_GET_SIZE(sequence);
  return PySequence_Size(sequence);
}

// Without a subclass's __getitem__; null if that is the only way.
Ref own_item(PyObject* sequence, Py_ssize_t at) {
  if (PyTuple_Check(sequence))
    return Ref::share(PyTuple_GET_ITEM(sequence, at));
  if (PyUnicode_Check(sequence))
    return Ref::steal(PyUnicode_Substring(sequence, at, at + 1));
  if (PyBytes_Check(sequence))
    return Ref::steal(PyLong_FromLong(
        static_cast<unsigned char>(PyBytes_AS_STRING(sequence)[at])));
  return nullptr;
}

Outcome<V> next_of_native(Context& ctx, V iterator, V* ended) {
  ctx.end_value = nullptr;
  Outcome<V> item = ctx.natives->next_item(ctx, iterator);
  // Those in C let the StopIteration of what they go over through.
  if (item && !item.value() && ctx.end_value) *ended = ctx.end_value;
  return unless_stopped(ctx, item, ended);
}

Outcome<V> next_item(Context& ctx, V iterator, V* ended) {
  if (iterator->kind == Kind::Generator)
    return ctx.inliner->resume_generator(iterator, ctx.none(), nullptr, ended);
  if (iterator->kind != Kind::Iterator) {
    PyObject* found = type_lookup(ctx, iterator->type, interned().dunder_next);
    if (!found)
      return ctx.raise(PyExc_TypeError, std::string("'") +
                                            iterator->type->tp_name +
                                            "' object is not an iterator");
    // An iterator that the caller has begun: to advance it is its own affair.
    if (!own_special(ctx, iterator->type, interned().dunder_next))
      return ctx.graph_break("caller-iterator",
                             std::string("a ") + iterator->type->tp_name +
                                 " that was made outside of the trace",
                             "make the iterator inside of the compiled "
                             "function, or pass a list");
    MG_TRY(V method, bind_descriptor(ctx, found, iterator, iterator->type,
                                     interned().dunder_next));
    return unless_stopped(ctx, call(ctx, method, {}), ended);
  }
  PyTypeObject* type = iterator->type;
  if (is_begun(iterator)) return next_begun(ctx, iterator);
  if (is_dict_iterator(iterator)) return next_of_dict(ctx, iterator);
  if (is_set_iterator(iterator)) return next_of_set(ctx, iterator);
  if (!goes_by_position(type)) return next_of_native(ctx, iterator, ended);

  const HeapObject& state = ctx.heap[iterator->heap];
  const int64_t position = state.number;
  if (position < 0) return nullptr;
  V container = state.slots[0];
  const auto at = static_cast<size_t>(position);
  switch (container->kind) {
    case Kind::Tuple:
      if (at >= tuple_items(container).size()) return finish(ctx, iterator);
      ctx.heap.set_number(iterator->heap, position + 1);
      return tuple_items(container)[at];
    case Kind::List: {
      const auto& items = ctx.heap.items(container->heap);
      if (at >= items.size()) return finish(ctx, iterator);
      ctx.heap.set_number(iterator->heap, position + 1);
      return items[at];
    }
    case Kind::Constant:
      if (PyRange_Check(container->object))
        return next_of_range(ctx, iterator, container->object, position);
      // A subclass of another sort answers by its __getitem__.
      if (is_safe_type(container->type) || PyTuple_Check(container->object) ||
          PyUnicode_Check(container->object) ||
          PyBytes_Check(container->object))
        if (position >= own_size(container->object))
          return finish(ctx, iterator);
      if (type == &PySeqIter_Type) break;
      if (Ref item = own_item(container->object, position)) {
        ctx.heap.set_number(iterator->heap, position + 1);
        return from_constant(ctx, std::move(item));
      }
      break;
    default:
      break;
  }
  // The sequence protocol: items until an IndexError.
  Outcome<V> item = get_item(ctx, container, ctx.integer(position));
  if (!item) {
    if (item.signal() == Signal::Raised && ctx.exception_is(PyExc_IndexError)) {
      (void)ctx.take_exception();
      return finish(ctx, iterator);
    }
    return item;
  }
  ctx.heap.set_number(iterator->heap, position + 1);
  return item;
}

}  // namespace

Outcome<V> next(Context& ctx, V iterator, V* ended) {
  ctx.end_value = nullptr;
  V brought = ctx.none();
  Outcome<V> item = next_item(ctx, ctx.look(iterator), &brought);
  if (item && !item.value()) ctx.end_value = brought;
  if (ended) *ended = brought;
  return item;
}

// So many items are copied in the time of an instruction.
constexpr int64_t kItemsPerStep = 8;

Status unpack(Context& ctx, V iterable, std::vector<V>& into) {
  iterable = ctx.look(iterable);
  if (iterable->kind == Kind::Tuple && iterable->type == &PyTuple_Type) {
    auto items = tuple_items(iterable);
    into.insert(into.end(), items.begin(), items.end());
    return done;
  }
  if (iterable->kind == Kind::List && iterable->type == &PyList_Type) {
    const std::vector<V>& items = ctx.heap.items(iterable->heap);
    into.insert(into.end(), items.begin(), items.end());
    ctx.steps_to_check -= std::ssize(items) / kItemsPerStep;
    return done;
  }
  if (iterable->is_constant() && PyTuple_CheckExact(iterable->object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(iterable->object); ++i)
      into.push_back(ctx.constant_share(PyTuple_GET_ITEM(iterable->object, i)));
    return done;
  }
  MG_TRY(V iterator, iterate(ctx, iterable));
  return take_all(ctx, iterator, into);
}

Status take_all(Context& ctx, V iterator, std::vector<V>& into) {
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return done;
    into.push_back(item);
  }
}

}  // namespace magneto::values
