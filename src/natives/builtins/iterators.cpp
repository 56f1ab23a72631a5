// SPDX-License-Identifier: BSD-3-Clause
// range, iter, next, and the lazy builtins: enumerate, zip, map, filter,
// reversed. How each keeps its state: values/types/iterators.h.
#include "natives/builtins/iterators.h"

#include <opcode.h>

#include "natives/signature.h"
#include "python/names.h"
#include "values/types/dict_iterators.h"
#include "values/types/exceptions.h"
#include "values/types/iterators.h"

namespace magneto::natives {

namespace {

V slot(Context& ctx, V iterator, size_t at) {
  return ctx.heap[iterator->heap].slots[at];
}

// -- range --------------------------------------------------------------------

Outcome<V> make_range(Context& ctx, const Arguments& args) {
  PyObject* real[3];
  for (size_t i = 0; i < args.count(); ++i) {
    V value = ctx.look(args.positional[i]);
    if (value->is_constant() && PyLong_Check(value->object)) {
      real[i] = value->object;
      continue;
    }
    MG_TRY(V number, values::as_index(ctx, value));
    real[i] = number->object;
  }
  Ref made = Ref::steal(PyObject_Vectorcall(
      reinterpret_cast<PyObject*>(&PyRange_Type), real, args.count(), nullptr));
  if (!made) return ctx.raise_from_python();
  return ctx.constant(std::move(made));
}

// -- iter and next ------------------------------------------------------------

Outcome<V> make_iterator(Context& ctx, const Arguments& args) {
  if (args.count() == 1) return iterate(ctx, args.positional[0]);
  return call_polyfill(ctx, "builtins.iter_until", args);
}

// The next item, or the StopIteration that says what a generator returned.
Outcome<V> next_or_stop(Context& ctx, V iterator) {
  iterator = ctx.look(iterator);
  if (iterator->kind == Kind::Generator) {
    V returned = nullptr;
    MG_TRY(V item, ctx.inliner->resume_generator(iterator, ctx.none(), nullptr,
                                                 &returned));
    if (item) return item;
    return stop_iteration(ctx, returned);
  }
  if (iterator->kind == Kind::Iterator) {
    V ended = nullptr;
    MG_TRY(V item, next(ctx, iterator, &ended));
    if (item) return item;
    return stop_iteration(ctx, ended);
  }
  MG_TRY(V method, special_method(ctx, iterator, interned().dunder_next));
  if (method) return call(ctx, method, {});
  return ctx.raise(PyExc_TypeError, std::string("'") + iterator->type->tp_name +
                                        "' object is not an iterator");
}

Outcome<V> next_of(Context& ctx, const Arguments& args) {
  Outcome<V> item = next_or_stop(ctx, args.positional[0]);
  if (!item && args.count() > 1 && item.signal() == Signal::Raised &&
      ctx.exception_is(PyExc_StopIteration)) {
    (void)ctx.take_exception();
    return args.positional[1];
  }
  return item;
}

// -- enumerate ----------------------------------------------------------------

Outcome<V> make_enumerate(Context& ctx, const Arguments& args) {
  V iterable = argument(args, 0, name<"iterable">());
  if (!iterable)
    return ctx.raise(PyExc_TypeError,
                     "enumerate() missing required argument 'iterable'");
  V start = argument(args, 1, name<"start">());
  if (start) {
    MG_TRY(start, as_index(ctx, start));
  } else {
    start = ctx.integer(0);
  }
  MG_TRY(V iterator, iterate(ctx, iterable));
  V slots[] = {iterator, start};
  return ctx.iterator(&PyEnum_Type, slots);
}

Outcome<V> next_enumerate(Context& ctx, V iterator) {
  MG_TRY(V item, next(ctx, slot(ctx, iterator, 0)));
  if (!item) return nullptr;
  V index = slot(ctx, iterator, 1);
  V after = nullptr;
  if (index->is_constant() &&
      Py_ABS(Py_SIZE(index->object)) <= 1) {  // it doesn't overflow
    after = ctx.integer(PyLong_AsSsize_t(index->object) + 1);
  } else {
    MG_TRY(after, binary_operation(ctx, NB_ADD, index, ctx.integer(1)));
  }
  ctx.heap.set_slot(iterator->heap, 1, after);
  V pair[] = {index, item};
  return ctx.tuple(pair);
}

// -- zip ----------------------------------------------------------------------

Outcome<V> make_zip(Context& ctx, const Arguments& args) {
  bool strict = false;
  if (V given = args.keyword(interned().strict)) {
    MG_TRY(strict, truth(ctx, given));
  }
  std::vector<V> iterators;
  for (V iterable : args.positional) {
    MG_TRY(V iterator, iterate(ctx, iterable));
    iterators.push_back(iterator);
  }
  return ctx.iterator(&PyZip_Type, iterators, strict);
}

Signal zip_mismatch(Context& ctx, size_t at, const char* how) {
  return ctx.raise(PyExc_ValueError,
                   "zip() argument " + std::to_string(at + 1) + " is " + how +
                       " than argument" + (at == 1 ? " 1" : "s 1-") +
                       (at == 1 ? "" : std::to_string(at)));
}

Outcome<V> next_zip(Context& ctx, V iterator) {
  std::vector<V> iterators = ctx.heap[iterator->heap].slots;
  const bool strict = ctx.heap[iterator->heap].number != 0;
  if (iterators.empty()) return nullptr;
  std::vector<V> items;
  for (size_t i = 0; i < iterators.size(); ++i) {
    MG_TRY(V item, next(ctx, iterators[i]));
    if (item) {
      if (!items.empty() || i == 0) items.push_back(item);
      continue;
    }
    if (!strict) return nullptr;
    if (i > 0) return zip_mismatch(ctx, i, "shorter");
    for (size_t other = 1; other < iterators.size(); ++other) {
      MG_TRY(V rest, next(ctx, iterators[other]));
      if (rest) return zip_mismatch(ctx, other, "longer");
    }
    return nullptr;
  }
  return ctx.tuple(items);
}

// -- map and filter -----------------------------------------------------------

Outcome<V> make_map(Context& ctx, const Arguments& args) {
  std::vector<V> slots{args.positional[0]};
  for (V iterable : args.positional.subspan(1)) {
    MG_TRY(V iterator, iterate(ctx, iterable));
    slots.push_back(iterator);
  }
  return ctx.iterator(&PyMap_Type, slots);
}

Outcome<V> next_map(Context& ctx, V iterator) {
  std::vector<V> slots = ctx.heap[iterator->heap].slots;
  std::vector<V> items;
  for (size_t i = 1; i < slots.size(); ++i) {
    MG_TRY(V item, next(ctx, slots[i]));
    if (!item) return nullptr;
    items.push_back(item);
  }
  return call(ctx, slots[0], Arguments{.positional = items});
}

Outcome<V> make_filter(Context& ctx, const Arguments& args) {
  MG_TRY(V iterator, iterate(ctx, args.positional[1]));
  V slots[] = {args.positional[0], iterator};
  return ctx.iterator(&PyFilter_Type, slots);
}

Outcome<V> next_filter(Context& ctx, V iterator) {
  V function = callable_argument(ctx, slot(ctx, iterator, 0));
  const bool by_truth =
      !function ||
      (function->is_constant() &&
       function->object == reinterpret_cast<PyObject*>(&PyBool_Type));
  for (;;) {
    MG_TRY(V item, next(ctx, slot(ctx, iterator, 1)));
    if (!item) return nullptr;
    V verdict = item;
    if (!by_truth) {
      MG_TRY(verdict, call(ctx, function, {item}));
    }
    MG_TRY(bool keep, truth(ctx, verdict));
    if (keep) return item;
  }
}

// -- reversed -----------------------------------------------------------------

Signal not_reversible(Context& ctx, V value) {
  return ctx.raise(PyExc_TypeError, std::string("'") + value->type->tp_name +
                                        "' object is not reversible");
}

Outcome<V> make_reversed(Context& ctx, const Arguments& args) {
  V sequence = ctx.look(args.positional[0]);
  PyObject* own =
      values::own_special(ctx, sequence->type, name<"__reversed__">());
  if (own == Py_None) return not_reversible(ctx, sequence);
  MG_TRY(V method, special_method(ctx, sequence, name<"__reversed__">()));
  if (own) return call(ctx, method, {});
  if (method && method->kind == Kind::BoundMethod) {
    V function = as<MethodValue>(method)->function;
    // Python's own and a deque's, not list.__reversed__ and the like.
    if (!function->is_constant() || PyFunction_Check(function->object) ||
        ctx.natives->has(function->object))
      return call(ctx, method, {});
  }
  if (sequence->kind == Kind::Dict)
    return dict_iterator(ctx, sequence, DictPart::Keys, true);
  const bool is_plain_set =
      sequence->kind == Kind::Set &&
      !values::own_special(ctx, sequence->type, name<"__getitem__">());
  if (is_plain_set || sequence->kind == Kind::Iterator ||
      sequence->kind == Kind::Generator)
    return not_reversible(ctx, sequence);
  if (sequence->kind == Kind::Tensor)
    return call_method(ctx, sequence, name<"__reversed__">(), {});
  if (method && sequence->kind == Kind::Object) return call(ctx, method, {});
  if (sequence->is_constant() && PyRange_Check(sequence->object)) {
    Ref step = Ref::steal(PyLong_FromLong(-1));
    Ref slice = Ref::steal(PySlice_New(nullptr, nullptr, step));
    Ref backwards = Ref::steal(PyObject_GetItem(sequence->object, slice));
    MG_CHECK(backwards, "a part of a range");
    return iterate(ctx, ctx.constant(std::move(backwards)));
  }
  if (!values::is_sequence_type(ctx, sequence->type))
    return not_reversible(ctx, sequence);
  // A list is gone through without asking its class.
  MG_TRY(V count, is_instance_of(sequence, &PyList_Type)
                      ? values::plain_length(ctx, sequence)
                      : length(ctx, sequence));
  MG_TRY(Py_ssize_t size, slot_index(ctx, count));
  return reversed_iterator(ctx, sequence, static_cast<size_t>(size));
}

Outcome<V> next_reversed(Context& ctx, V iterator) {
  const int64_t left = ctx.heap[iterator->heap].number;
  constexpr int64_t kEnded = -1;
  if (left <= 0) {
    if (left == 0) ctx.heap.set_number(iterator->heap, kEnded);
    return nullptr;
  }
  V sequence = slot(ctx, iterator, 0), position = ctx.integer(left - 1);
  Outcome<V> item = iterator->type == &PyListRevIter_Type
                        ? values::plain_get_item(ctx, sequence, position)
                        : get_item(ctx, sequence, position);
  if (!item) {
    if (item.signal() != Signal::Raised) return item;
    ctx.heap.set_number(iterator->heap, kEnded);
    // The sequence has become shorter.
    if (!ctx.exception_is(PyExc_IndexError) &&
        !ctx.exception_is(PyExc_StopIteration))
      return item;
    (void)ctx.take_exception();
    return nullptr;
  }
  ctx.heap.set_number(iterator->heap, left - 1);
  return item;
}

// -- the iterators of containers ----------------------------------------------

Outcome<V> next_simple(Context& ctx, V iterator) { return next(ctx, iterator); }

constexpr const char* kBuiltins = "builtins";
constexpr const char* kTypes = "<types>";

#define MG_SELF(module, name) \
  { module, name ".__iter__", itself, 1, 1, nullptr }

constexpr Row kRows[] = {
    {kBuiltins, "range", make_range, 1, 3, nullptr},
    {kBuiltins, "iter", make_iterator, 1, 2, nullptr},
    {kBuiltins, "next", next_of, 1, 2, nullptr},
    {kBuiltins, "enumerate", make_enumerate, 0, 2, "iterable start"},
    {kBuiltins, "zip", make_zip, 0, kAny, "strict"},
    {kBuiltins, "map", make_map, 2, kAny, nullptr},
    {kBuiltins, "filter", make_filter, 2, 2, nullptr},
    {kBuiltins, "reversed", make_reversed, 1, 1, nullptr},
    row::next(kBuiltins, "enumerate.__next__", next_enumerate),
    row::next(kBuiltins, "zip.__next__", next_zip),
    row::next(kBuiltins, "map.__next__", next_map),
    row::next(kBuiltins, "filter.__next__", next_filter),
    row::next(kBuiltins, "reversed.__next__", next_reversed),
    MG_SELF(kBuiltins, "enumerate"),
    MG_SELF(kBuiltins, "zip"),
    MG_SELF(kBuiltins, "map"),
    MG_SELF(kBuiltins, "filter"),
    MG_SELF(kBuiltins, "reversed"),
    row::next(kTypes, "list_reverseiterator.__next__", next_reversed),
    row::next(kTypes, "list_iterator.__next__", next_simple),
    row::next(kTypes, "tuple_iterator.__next__", next_simple),
    row::next(kTypes, "range_iterator.__next__", next_simple),
    row::next(kTypes, "set_iterator.__next__", next_simple),
    row::next(kTypes, "dict_keyiterator.__next__", next_simple),
    row::next(kTypes, "dict_valueiterator.__next__", next_simple),
    row::next(kTypes, "dict_itemiterator.__next__", next_simple),
    row::next(kTypes, "dict_reversekeyiterator.__next__", next_simple),
    row::next(kTypes, "dict_reversevalueiterator.__next__", next_simple),
    row::next(kTypes, "dict_reverseitemiterator.__next__", next_simple),
    row::next(kTypes, "odict_iterator.__next__", next_simple),
    row::next(kTypes, "iterator.__next__", next_simple),
    row::next(kTypes, "str_iterator.__next__", next_simple),
    row::next(kTypes, "str_ascii_iterator.__next__", next_simple),
    row::next(kTypes, "bytes_iterator.__next__", next_simple),
    MG_SELF(kTypes, "list_reverseiterator"),
    MG_SELF(kTypes, "list_iterator"),
    MG_SELF(kTypes, "tuple_iterator"),
    MG_SELF(kTypes, "range_iterator"),
    MG_SELF(kTypes, "set_iterator"),
    MG_SELF(kTypes, "dict_keyiterator"),
    MG_SELF(kTypes, "dict_valueiterator"),
    MG_SELF(kTypes, "dict_itemiterator"),
    MG_SELF(kTypes, "dict_reversekeyiterator"),
    MG_SELF(kTypes, "dict_reversevalueiterator"),
    MG_SELF(kTypes, "dict_reverseitemiterator"),
    MG_SELF(kTypes, "odict_iterator"),
    MG_SELF(kTypes, "iterator"),
};

#undef MG_SELF

}  // namespace

Signal stop_iteration(Context& ctx, V returned) {
  if (!returned || (returned->is_constant() && returned->object == Py_None))
    return ctx.raise_value(make_exception(
        ctx, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration), {}));
  return ctx.raise_value(
      make_exception(ctx, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration),
                     {&returned, 1}));
}

Outcome<V> itself(Context& ctx, const Arguments& args) {
  return ctx.look(args.positional[0]);
}

std::span<const Row> iterator_rows() { return kRows; }

}  // namespace magneto::natives
