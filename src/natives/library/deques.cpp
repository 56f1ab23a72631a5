// SPDX-License-Identifier: BSD-3-Clause
// collections.deque: a List of that class; slot 0 is maxlen.
#include "values/types/deques.h"

#include "guards/finalizer.h"
#include "natives/builtins/iterators.h"
#include "natives/builtins/lists.h"
#include "natives/builtins/text.h"
#include "natives/signature.h"
#include "python/deque_layout.h"
#include "python/find.h"
#include "python/names.h"
#include "python/types.h"
#include "values/protocol/attributes.h"
#include "values/types/exceptions.h"

namespace magneto::natives {

namespace {

using python::deque_type;

PyTypeObject* class_of_iterator(const char* method) {
  Ref made = Ref::steal(
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(deque_type())));
  MG_CHECK(made, "an empty deque");
  Ref iterator = Ref::steal(PyObject_CallMethod(made, method, nullptr));
  MG_CHECK(iterator, "an iterator of it");
  return Py_TYPE(iterator.get());  // a static type
}
PyTypeObject* iterator_type() {
  static PyTypeObject* const type = class_of_iterator("__iter__");
  return type;
}
PyTypeObject* reverse_iterator_type() {
  static PyTypeObject* const type = class_of_iterator("__reversed__");
  return type;
}

const std::vector<V>& items_of(Context& ctx, V deque) {
  return ctx.heap.items(deque->heap);
}

// The most items that it may have, or -1.
Py_ssize_t limit_of(Context& ctx, V deque) {
  const auto& slots = ctx.heap[deque->heap].slots;
  if (slots.empty() || slots[0]->object == Py_None) return -1;
  return PyLong_AsSsize_t(slots[0]->object);
}

// Every change of length gives an iterator that is under way a RuntimeError:
// the deque's number counts them.
void note_change(Context& ctx, V deque) {
  ctx.heap.set_number(deque->heap, ctx.heap[deque->heap].number + 1);
}

// Drops what is too much at the end that isn't added to.
void trim(Context& ctx, V deque, bool added_right) {
  const Py_ssize_t limit = limit_of(ctx, deque);
  if (limit < 0) return;
  const HeapObject& state = ctx.heap[deque->heap];
  // The caller's own go when they are read, or by themselves.
  if (state.is_unread && added_right &&
      state.items.size() <= static_cast<size_t>(limit) &&
      !guards::deque_has_finalizer(deque->object)) {
    ctx.guards.no_finalizer_in_deque(deque->source);
    return;
  }
  const size_t size = items_of(ctx, deque).size();
  if (size <= static_cast<size_t>(limit)) return;
  const size_t excess = size - static_cast<size_t>(limit);
  ctx.heap.splice(deque->heap, added_right ? 0 : size - excess, excess, {});
}

// list(deque), for which a derived class may give others than there are.
Status list_items(Context& ctx, V deque, std::vector<V>& items) {
  if (deque->type != deque_type())
    return values::unpack_to_list(ctx, deque, items);
  items = items_of(ctx, deque);
  return done;
}

// One by one: whoever yields them may look at the deque, or raise.
Status extend_with(Context& ctx, V deque, V iterable, bool right) {
  iterable = ctx.look(iterable);
  if (iterable == deque) {
    std::vector<V> items;
    MG_DO(list_items(ctx, deque, items));
    iterable = ctx.list(items);
  }
  MG_TRY(V iterator, iterate(ctx, iterable));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return done;
    if (right)
      ctx.heap.append(deque->heap, item);
    else
      ctx.heap.splice(deque->heap, 0, 0, {&item, 1});
    trim(ctx, deque, right);
    note_change(ctx, deque);
  }
}

void remove_all(Context& ctx, V deque) {
  const size_t size = items_of(ctx, deque).size();
  if (size == 0) return;
  ctx.heap.splice(deque->heap, 0, size, {});
  note_change(ctx, deque);
}

Status fill(Context& ctx, V deque, V iterable, V limit) {
  if (limit) {
    limit = ctx.look(limit);
    if (!(limit->is_constant() && limit->object == Py_None)) {
      if (!limit->is_constant() || !PyLong_Check(limit->object))
        return ctx.raise(PyExc_TypeError, "an integer is required");
      if (PyLong_AsSsize_t(limit->object) < 0) {
        if (PyErr_Occurred()) return ctx.raise_from_python();
        return ctx.raise(PyExc_ValueError, "maxlen must be non-negative");
      }
    }
  } else {
    limit = ctx.none();
  }
  // Right after __new__, or a second time.
  if (ctx.heap[deque->heap].slots.empty())
    ctx.heap.initial(deque->heap).slots = {limit};
  else
    ctx.heap.set_slot(deque->heap, 0, limit);
  remove_all(ctx, deque);
  if (iterable) MG_DO(extend_with(ctx, deque, iterable, true));
  return done;
}

Outcome<V> make(Context& ctx, const Arguments& args) {
  V made = ctx.list({}, deque_type());
  MG_DO(fill(ctx, made, argument(args, 0, name<"iterable">()),
             argument(args, 1, name<"maxlen">())));
  return made;
}

// deque.__new__(cls, ...), for subclasses
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (!type->is_constant() || !PyType_Check(type->object))
    return ctx.raise(PyExc_TypeError,
                     "deque.__new__(X): X is not a type object");
  return ctx.list({}, reinterpret_cast<PyTypeObject*>(type->object));
}

Outcome<V> initialise(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  // That of the caller's stays what it is.
  if (deque->object)
    return ctx.graph_break("native-call", "deque.__init__ of the caller's",
                           "clear and extend it instead");
  MG_DO(fill(ctx, deque, argument(args, 1, name<"iterable">()),
             argument(args, 2, name<"maxlen">())));
  return ctx.none();
}

Outcome<V> append(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  ctx.heap.append(deque->heap, args.positional[1]);
  trim(ctx, deque, true);
  note_change(ctx, deque);
  return ctx.none();
}

Outcome<V> append_left(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  ctx.heap.splice(deque->heap, 0, 0, args.positional.subspan(1));
  trim(ctx, deque, false);
  note_change(ctx, deque);
  return ctx.none();
}

template <bool right>
Outcome<V> pop(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  const auto& items = items_of(ctx, deque);
  if (items.empty())
    return ctx.raise(PyExc_IndexError, "pop from an empty deque");
  V item = right ? items.back() : items.front();
  ctx.heap.splice(deque->heap, right ? items.size() - 1 : 0, 1, {});
  note_change(ctx, deque);
  return item;
}

template <bool right>
Outcome<V> extend(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  MG_DO(extend_with(ctx, deque, args.positional[1], right));
  return ctx.none();
}

Outcome<V> extend_in_place(Context& ctx, const Arguments& args) {
  MG_TRY(V ignored, extend<true>(ctx, args));
  (void)ignored;
  return ctx.look(args.positional[0]);
}

Outcome<V> rotate(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  Py_ssize_t steps = 1;
  if (args.count() > 1) {
    MG_TRY(steps, index_argument(ctx, args.positional[1]));
  }
  std::vector<V> items = items_of(ctx, deque);
  const auto size = static_cast<Py_ssize_t>(items.size());
  if (size < 2) return ctx.none();
  const Py_ssize_t start = ((-steps % size) + size) % size;
  std::vector<V> turned(items.begin() + start, items.end());
  turned.insert(turned.end(), items.begin(), items.begin() + start);
  ctx.heap.splice(deque->heap, 0, items.size(), turned);
  note_change(ctx, deque);
  return ctx.none();
}

Outcome<V> insert(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  MG_TRY(Py_ssize_t at, index_argument(ctx, args.positional[1]));
  const Py_ssize_t limit = limit_of(ctx, deque);
  const auto size = static_cast<Py_ssize_t>(items_of(ctx, deque).size());
  if (limit >= 0 && size >= limit)
    return ctx.raise(PyExc_IndexError, "deque already at its maximum size");
  if (at < 0) at = std::max<Py_ssize_t>(at + size, 0);
  ctx.heap.splice(deque->heap, static_cast<size_t>(std::min(at, size)), 0,
                  args.positional.subspan(2));
  note_change(ctx, deque);
  return ctx.none();
}

Signal not_in_deque(Context& ctx, V wanted) {
  Outcome<V> text = repr_of(ctx, wanted);
  if (!text) return text.signal();
  Outcome<V> message =
      concatenated(ctx, {text.value(), ctx.string(" is not in deque")});
  if (!message) return message.signal();
  V argument = message.value();
  return ctx.raise_value(make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_ValueError), {&argument, 1}));
}

Outcome<V> remove(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  std::vector<V> items = items_of(ctx, deque);
  MG_TRY(Py_ssize_t at,
         find_item(ctx, items, args.positional[1], 0, PY_SSIZE_T_MAX));
  MG_DO(expect_unchanged(ctx, deque, items));
  if (at < 0) return not_in_deque(ctx, args.positional[1]);
  ctx.heap.splice(deque->heap, static_cast<size_t>(at), 1, {});
  note_change(ctx, deque);
  return ctx.none();
}

Outcome<V> index(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX;
  if (args.count() > 2) {
    MG_TRY(start, bound_argument(ctx, args.positional[2]));
  }
  if (args.count() > 3) {
    MG_TRY(stop, bound_argument(ctx, args.positional[3]));
  }
  std::vector<V> items = items_of(ctx, deque);
  MG_TRY(Py_ssize_t at, find_item(ctx, items, args.positional[1], start, stop));
  MG_DO(expect_unchanged(ctx, deque, items));
  if (at < 0) return not_in_deque(ctx, args.positional[1]);
  return ctx.integer(at);
}

Outcome<V> count(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  std::vector<V> items = items_of(ctx, deque);
  int64_t found = 0;
  for (V item : items) {
    MG_TRY(Py_ssize_t at, find_item(ctx, {&item, 1}, args.positional[1], 0, 1));
    found += at == 0;
  }
  MG_DO(expect_unchanged(ctx, deque, items));
  return ctx.integer(found);
}

Outcome<V> clear(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  remove_all(ctx, deque);
  return ctx.none();
}

Outcome<V> copy(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  if (deque->type != deque_type()) {
    // A derived class is asked for one.
    std::vector<V> given{deque};
    if (const Py_ssize_t most = limit_of(ctx, deque); most >= 0)
      given.push_back(ctx.integer(most));
    MG_TRY(V made, call(ctx, values::class_value(ctx, deque->type),
                        {.positional = given}));
    made = ctx.look(made);
    if (is_instance_of(made, deque_type())) return made;
    return ctx.raise(PyExc_TypeError, std::string(deque->type->tp_name) +
                                          "() must return a deque, not " +
                                          made->type->tp_name);
  }
  V made = ctx.list(items_of(ctx, deque), deque->type);
  ctx.heap.initial(made->heap).slots = ctx.heap[deque->heap].slots;
  return made;
}

// deque + deque
Outcome<V> slot_add(Context& ctx, const Arguments& args) {
  MG_TRY(V left, list_receiver(ctx, args));
  (void)left;
  V right = ctx.look(args.positional[1]);
  if (right->kind != Kind::List || !is_instance_of(right, deque_type()))
    return ctx.raise(PyExc_TypeError,
                     std::string("can only concatenate deque (not \"") +
                         right->type->tp_name + "\") to deque");
  MG_TRY(V made, copy(ctx, args));
  V both[] = {made, right};
  return extend_in_place(ctx, {.positional = both});
}

Outcome<V> reverse(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  std::vector<V> items = items_of(ctx, deque);
  std::reverse(items.begin(), items.end());
  if (!items.empty()) ctx.heap.splice(deque->heap, 0, items.size(), items);
  return ctx.none();
}

V begin(Context& ctx, V deque, PyTypeObject* type) {
  V slots[] = {deque, ctx.integer(ctx.heap[deque->heap].number),
               ctx.integer(static_cast<int64_t>(items_of(ctx, deque).size()))};
  return ctx.iterator(type, slots);
}

Outcome<V> reversed(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  return begin(ctx, deque, reverse_iterator_type());
}

Outcome<V> iterate_items(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  return begin(ctx, deque, iterator_type());
}

// Forwards, a change is told each time, at the end too; backwards once, before
// the end.
template <bool backwards>
Outcome<V> next_item(Context& ctx, V iterator) {
  const HeapObject& state = ctx.heap[iterator->heap];
  if (state.number < 0) return nullptr;
  V deque = state.slots[0];
  const auto at = static_cast<size_t>(state.number);
  const size_t starts_with = PyLong_AsSize_t(state.slots[2]->object);
  if (backwards && at >= starts_with) return nullptr;
  if (values::is_outdated(ctx, iterator)) {
    // Nothing is left of it.
    ctx.heap.set_number(iterator->heap,
                        backwards ? -1 : static_cast<int64_t>(starts_with));
    return ctx.raise(PyExc_RuntimeError, "deque mutated during iteration");
  }
  const auto& items = items_of(ctx, deque);
  if (at >= items.size()) return nullptr;
  ctx.heap.set_number(iterator->heap, state.number + 1);
  return items[backwards ? items.size() - 1 - at : at];
}

// deque * n and deque *= n
template <bool in_place>
Outcome<V> repeat(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  V given = ctx.look(args.positional[1]);
  if (!values::has_index(ctx, given->type))
    return ctx.raise(PyExc_TypeError,
                     std::string("'") + given->type->tp_name +
                         "' object cannot be interpreted as an integer");
  MG_TRY(Py_ssize_t times, slot_index(ctx, given));
  V target = deque;
  if (!in_place) {
    MG_TRY(target, copy(ctx, args));
  }
  std::vector<V> once = items_of(ctx, target);
  if (times == 1 || once.empty()) return target;
  if (times <= 0) ctx.heap.splice(target->heap, 0, once.size(), {});
  if (times > 1 && once.size() > 1) {
    once.clear();
    MG_DO(list_items(ctx, target, once));
  }
  for (Py_ssize_t i = 1; i < times; ++i) {
    ctx.heap.splice(target->heap, items_of(ctx, target).size(), 0, once);
    trim(ctx, target, true);
  }
  note_change(ctx, target);
  return target;
}

Outcome<V> limit(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  const auto& slots = ctx.heap[deque->heap].slots;
  return slots.empty() ? ctx.none() : slots[0];
}

Outcome<V> repr(Context& ctx, const Arguments& args) {
  MG_TRY(V deque, list_receiver(ctx, args));
  std::vector<V> items;
  MG_DO(list_items(ctx, deque, items));
  MG_TRY(V inner, repr_of(ctx, ctx.list(items)));
  const Py_ssize_t most = limit_of(ctx, deque);
  const std::string close =
      most < 0 ? ")" : ", maxlen=" + std::to_string(most) + ")";
  return concatenated(
      ctx, {ctx.string(std::string(python::short_name(deque->type)) + "("),
            inner, ctx.string(close)});
}

constexpr const char* kCollections = "collections";

constexpr Row kRows[] = {
    {kCollections, "deque", make, 0, 2, "iterable maxlen"},
    {kCollections, "deque.__new__", make_of_class, 1, kAny, "*"},
    {kCollections, "deque.__init__", initialise, 1, 3, "iterable maxlen"},
    {kCollections, "deque.append", append, 2, 2, nullptr},
    {kCollections, "deque.appendleft", append_left, 2, 2, nullptr},
    {kCollections, "deque.pop", pop<true>, 1, 1, nullptr},
    {kCollections, "deque.popleft", pop<false>, 1, 1, nullptr},
    {kCollections, "deque.extend", extend<true>, 2, 2, nullptr},
    {kCollections, "deque.extendleft", extend<false>, 2, 2, nullptr},
    {kCollections, "deque.__iadd__", extend_in_place, 2, 2, nullptr},
    {kCollections, "deque.rotate", rotate, 1, 2, nullptr},
    {kCollections, "deque.insert", insert, 3, 3, nullptr},
    {kCollections, "deque.index", index, 2, 4, nullptr},
    {kCollections, "deque.__add__", slot_add, 2, 2, nullptr},
    {kCollections, "deque.remove", remove, 2, 2, nullptr},
    {kCollections, "deque.count", count, 2, 2, nullptr},
    {kCollections, "deque.clear", clear, 1, 1, nullptr},
    {kCollections, "deque.copy", copy, 1, 1, nullptr},
    {kCollections, "deque.__copy__", copy, 1, 1, nullptr},
    {kCollections, "deque.reverse", reverse, 1, 1, nullptr},
    {kCollections, "deque.__reversed__", reversed, 1, 1, nullptr},
    {kCollections, "deque.__iter__", iterate_items, 1, 1, nullptr},
    {kCollections, "deque.__mul__", repeat<false>, 2, 2, nullptr},
    {kCollections, "deque.__rmul__", repeat<false>, 2, 2, nullptr},
    {kCollections, "deque.__imul__", repeat<true>, 2, 2, nullptr},
    {kCollections, "deque.__repr__", repr, 1, 1, nullptr},
    {kCollections, "deque.maxlen", limit, 1, 1, nullptr},
    row::next("_collections", "_deque_iterator.__next__", next_item<false>),
    {"_collections", "_deque_iterator.__iter__", itself, 1, 1, nullptr},
    row::next("_collections", "_deque_reverse_iterator.__next__",
              next_item<true>),
    {"_collections", "_deque_reverse_iterator.__iter__", itself, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> deque_rows() { return kRows; }

}  // namespace magneto::natives
