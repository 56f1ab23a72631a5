// SPDX-License-Identifier: BSD-3-Clause
// Methods and slots of list; also of deque, which the trace keeps as a list.
#include "natives/builtins/lists.h"

#include <algorithm>

#include "natives/builtins/ordering.h"
#include "natives/builtins/text.h"
#include "natives/signature.h"
#include "python/names.h"
#include "python/types.h"
#include "values/types/exceptions.h"
#include "values/types/iterators.h"

namespace magneto::natives {

Outcome<V> list_receiver(Context& ctx, const Arguments& args) {
  V list = ctx.look(args.positional[0]);
  if (list->kind == Kind::List) return list;
  return ctx.graph_break(
      "native-call",
      std::string("a method of a ") + list->type->tp_name + " of the caller's",
      "use it outside of the compiled function");
}

namespace {

size_t size_of(Context& ctx, V list) {
  return ctx.heap.items(list->heap).size();
}

Outcome<V> make_list(Context& ctx, const Arguments& args) {
  if (!args.count()) return ctx.list({});
  std::vector<V> items;
  MG_DO(unpack_to_list(ctx, args.positional[0], items));
  return ctx.list(items);
}

// list.__new__(cls, ...)
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (!type->is_constant() || !PyType_Check(type->object) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type->object),
                        &PyList_Type))
    return ctx.raise(PyExc_TypeError,
                     "list.__new__(X): X is not a subtype of list");
  return ctx.list({}, reinterpret_cast<PyTypeObject*>(type->object));
}

Outcome<V> initialise(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  if (size_of(ctx, list))
    ctx.heap.splice(list->heap, 0, size_of(ctx, list), {});
  if (args.count() > 1) MG_DO(list_extend(ctx, list, args.positional[1]));
  return ctx.none();
}

Outcome<V> append(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  ctx.heap.append(list->heap, args.positional[1]);
  return ctx.none();
}

Outcome<V> extend(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  MG_DO(list_extend(ctx, list, args.positional[1]));
  return ctx.none();
}

Outcome<V> insert(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  MG_TRY(Py_ssize_t at, index_argument(ctx, args.positional[1]));
  const auto size = static_cast<Py_ssize_t>(size_of(ctx, list));
  if (at < 0) at = std::max<Py_ssize_t>(at + size, 0);
  at = std::min(at, size);
  ctx.heap.splice(list->heap, static_cast<size_t>(at), 0,
                  args.positional.subspan(2, 1));
  return ctx.none();
}

Outcome<V> pop(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  Py_ssize_t at = -1;
  if (args.count() > 1) {
    MG_TRY(at, index_argument(ctx, args.positional[1]));
  }
  const auto size = static_cast<Py_ssize_t>(size_of(ctx, list));
  if (size == 0) return ctx.raise(PyExc_IndexError, "pop from empty list");
  if (at < 0) at += size;
  if (at < 0 || at >= size)
    return ctx.raise(PyExc_IndexError, "pop index out of range");
  V item = ctx.heap.items(list->heap)[static_cast<size_t>(at)];
  ctx.heap.splice(list->heap, static_cast<size_t>(at), 1, {});
  return item;
}

}  // namespace

Status expect_unchanged(Context& ctx, V list, std::span<const V> items) {
  const auto& now = ctx.heap.items(list->heap);
  if (std::equal(now.begin(), now.end(), items.begin(), items.end()))
    return done;
  return ctx.graph_break("c-protocol",
                         std::string("a ") + python::short_name(list->type) +
                             " that changes while it is searched",
                         "search a copy");
}

Outcome<Py_ssize_t> find_item(Context& ctx, std::span<const V> items, V wanted,
                              Py_ssize_t start, Py_ssize_t stop) {
  const auto size = static_cast<Py_ssize_t>(items.size());
  if (start < 0) start = std::max<Py_ssize_t>(start + size, 0);
  if (stop < 0) stop = std::max<Py_ssize_t>(stop + size, 0);
  for (Py_ssize_t i = start; i < std::min(stop, size); ++i) {
    V item = items[static_cast<size_t>(i)];
    MG_TRY(bool same, identical_or_equal(ctx, item, wanted));
    if (same) return i;
  }
  return -1;
}

Outcome<Py_ssize_t> bound_argument(Context& ctx, V value) {
  value = ctx.look(value);
  if (!values::has_index(ctx, value->type))
    return ctx.raise(PyExc_TypeError,
                     "slice indices must be integers or have an __index__ "
                     "method");
  MG_TRY(V own, values::own_position(ctx, value));
  if (own || !value->is_constant())
    return index_argument(ctx, own ? own : value);
  // A bound beyond all sequences is their end.
  Py_ssize_t bound = PyNumber_AsSsize_t(value->object, nullptr);
  if (bound == -1 && PyErr_Occurred()) return ctx.raise_from_python();
  return bound;
}

namespace {

Outcome<V> index(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX;
  if (args.count() > 2) {
    MG_TRY(start, bound_argument(ctx, args.positional[2]));
  }
  if (args.count() > 3) {
    MG_TRY(stop, bound_argument(ctx, args.positional[3]));
  }
  std::vector<V> items = ctx.heap.items(list->heap);
  MG_TRY(Py_ssize_t at, find_item(ctx, items, args.positional[1], start, stop));
  MG_DO(expect_unchanged(ctx, list, items));
  if (at >= 0) return ctx.integer(at);
  MG_TRY(V text, repr_of(ctx, args.positional[1]));
  MG_TRY(V argument, concatenated(ctx, {text, ctx.string(" is not in list")}));
  return ctx.raise_value(make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_ValueError), {&argument, 1}));
}

Outcome<V> count(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  std::vector<V> items = ctx.heap.items(list->heap);
  int64_t found = 0;
  for (V item : items) {
    MG_TRY(bool same, identical_or_equal(ctx, item, args.positional[1]));
    found += same;
  }
  MG_DO(expect_unchanged(ctx, list, items));
  return ctx.integer(found);
}

Outcome<V> remove(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  std::vector<V> items = ctx.heap.items(list->heap);
  MG_TRY(Py_ssize_t at,
         find_item(ctx, items, args.positional[1], 0, PY_SSIZE_T_MAX));
  MG_DO(expect_unchanged(ctx, list, items));
  if (at < 0)
    return ctx.raise(PyExc_ValueError, "list.remove(x): x not in list");
  ctx.heap.splice(list->heap, static_cast<size_t>(at), 1, {});
  return ctx.none();
}

Outcome<V> clear(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  if (size_of(ctx, list))
    ctx.heap.splice(list->heap, 0, size_of(ctx, list), {});
  return ctx.none();
}

Outcome<V> copy(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  return ctx.list(ctx.heap.items(list->heap));
}

Outcome<V> reverse(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  std::vector<V> items = ctx.heap.items(list->heap);
  std::reverse(items.begin(), items.end());
  if (!items.empty()) ctx.heap.splice(list->heap, 0, items.size(), items);
  return ctx.none();
}

Outcome<V> sort_in_place(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  std::vector<V> items = ctx.heap.items(list->heap);
  // Keys and comparisons see an empty list.
  if (!items.empty()) ctx.heap.splice(list->heap, 0, items.size(), {});
  const Status sorted = sort(ctx, items, args);
  if (!sorted && sorted.signal() != Signal::Raised) return sorted.signal();
  // Where a comparison raises, the list stays as far as it has got.
  const size_t added = ctx.heap.items(list->heap).size();
  if (added + items.size() > 0) ctx.heap.splice(list->heap, 0, added, items);
  if (!sorted) return sorted.signal();
  if (added > 0)
    return ctx.raise(PyExc_ValueError, "list modified during sort");
  return ctx.none();
}

Outcome<V> slot_add(Context& ctx, const Arguments& args) {
  MG_TRY(V left, list_receiver(ctx, args));
  V right = ctx.look(args.positional[1]);
  if (!PyType_IsSubtype(right->type, &PyList_Type))
    return ctx.raise(PyExc_TypeError,
                     std::string("can only concatenate list (not \"") +
                         right->type->tp_name + "\") to list");
  std::vector<V> items = ctx.heap.items(left->heap);
  const auto& more = ctx.heap.items(right->heap);
  items.insert(items.end(), more.begin(), more.end());
  return ctx.list(items);
}

Outcome<V> slot_in_place_add(Context& ctx, const Arguments& args) {
  MG_TRY(V ignored, extend(ctx, args));
  (void)ignored;
  return ctx.look(args.positional[0]);
}

Outcome<V> slot_reversed(Context& ctx, const Arguments& args) {
  MG_TRY(V list, list_receiver(ctx, args));
  return reversed_iterator(ctx, list, size_of(ctx, list));
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "list", make_list, 0, 1, nullptr},
    {kBuiltins, "list.__new__", make_of_class, 1, kAny, "*"},
    {kBuiltins, "list.__init__", initialise, 1, 2, nullptr},
    {kBuiltins, "list.append", append, 2, 2, nullptr},
    {kBuiltins, "list.extend", extend, 2, 2, nullptr},
    {kBuiltins, "list.insert", insert, 3, 3, nullptr},
    {kBuiltins, "list.pop", pop, 1, 2, nullptr},
    {kBuiltins, "list.index", index, 2, 4, nullptr},
    {kBuiltins, "list.count", count, 2, 2, nullptr},
    {kBuiltins, "list.remove", remove, 2, 2, nullptr},
    {kBuiltins, "list.clear", clear, 1, 1, nullptr},
    {kBuiltins, "list.copy", copy, 1, 1, nullptr},
    {kBuiltins, "list.reverse", reverse, 1, 1, nullptr},
    {kBuiltins, "list.sort", sort_in_place, 1, 1, "key reverse"},
    {kBuiltins, "list.__add__", slot_add, 2, 2, nullptr},
    {kBuiltins, "list.__iadd__", slot_in_place_add, 2, 2, nullptr},
    {kBuiltins, "list.__reversed__", slot_reversed, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> list_rows() { return kRows; }

}  // namespace magneto::natives
