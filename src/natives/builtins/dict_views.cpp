// SPDX-License-Identifier: BSD-3-Clause
// dict.keys(), values() and items(): objects whose slot 0 is the dict, and the
// iterators over them.
#include "natives/builtins/dicts.h"
#include "natives/builtins/iterators.h"
#include "natives/builtins/text.h"
#include "natives/signature.h"
#include "python/types.h"
#include "values/types/dict_iterators.h"
#include "values/types/sets.h"

namespace magneto::natives {

namespace {

// The dict that is viewed; the caller's views don't tell.
Outcome<V> dict_of(Context& ctx, V view) {
  const auto& slots = ctx.heap[view->heap].slots;
  if (slots.empty())
    return ctx.graph_break("c-protocol",
                           std::string("a ") + python::short_name(view->type) +
                               " that was made outside of the trace",
                           "take the view inside of the compiled function");
  return slots[0];
}

V receiver(Context& ctx, const Arguments& args) {
  return ctx.look(args.positional[0]);
}

size_t size_of(Context& ctx, V dict) {
  ctx.heap.dict_complete(dict->heap, ctx);
  return ctx.heap[dict->heap].dict->live;
}

Outcome<V> count(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_of(ctx, receiver(ctx, args)));
  return ctx.integer(static_cast<int64_t>(size_of(ctx, dict)));
}

V pair_of(Context& ctx, V key, V value) {
  V pair[] = {key, value};
  return ctx.tuple(pair);
}

// -- iteration ----------------------------------------------------------------

template <DictPart part, bool backwards>
Outcome<V> iterate_part(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_of(ctx, receiver(ctx, args)));
  return dict_iterator(ctx, dict, part, backwards);
}

Status all_of(Context& ctx, V view, DictPart part, std::vector<V>& all) {
  MG_TRY(V dict, dict_of(ctx, view));
  Items items = items_of(ctx, dict);
  if (part == DictPart::Items)
    for (size_t i = 0; i < items.keys.size(); ++i)
      all.push_back(pair_of(ctx, items.keys[i], items.values[i]));
  else
    all = part == DictPart::Keys ? items.keys : items.values;
  return done;
}

template <DictPart part>
Outcome<V> text(Context& ctx, const Arguments& args) {
  V view = receiver(ctx, args);
  std::vector<V> all;
  MG_DO(all_of(ctx, view, part, all));
  MG_TRY(V inner, repr_of(ctx, ctx.list(all)));
  return concatenated(
      ctx, {ctx.string(std::string(python::short_name(view->type)) + "("),
            inner, ctx.string(")")});
}

// -- as sets ------------------------------------------------------------------

Outcome<V> contains_key(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_of(ctx, receiver(ctx, args)));
  MG_TRY(V found, dict_get(ctx, dict, args.positional[1]));
  return ctx.boolean(found != nullptr);
}

Outcome<V> contains_item(Context& ctx, const Arguments& args) {
  V pair = ctx.look(args.positional[1]);
  std::vector<V> parts;
  // Its own, whatever the __iter__ of its class says.
  if (is_instance_of(pair, &PyTuple_Type)) {
    MG_TRY(V iterator, values::plain_iterate(ctx, pair));
    MG_DO(unpack(ctx, iterator, parts));
  }
  if (parts.size() != 2) return ctx.boolean(false);
  MG_TRY(V dict, dict_of(ctx, receiver(ctx, args)));
  MG_TRY(V found, dict_get(ctx, dict, parts[0]));
  if (!found) return ctx.boolean(false);
  MG_TRY(bool same, identical_or_equal(ctx, found, parts[1]));
  return ctx.boolean(same);
}

bool is_items_view(V value) {
  return PyType_IsSubtype(value->type, &PyDictItems_Type);
}
bool is_view(V value) {
  return PyType_IsSubtype(value->type, &PyDictKeys_Type) ||
         is_items_view(value);
}

// What follows does as CPython does, which the order of the result tells.

Outcome<V> intersection(Context& ctx, V left, V right) {
  if (!is_view(left)) std::swap(left, right);
  MG_TRY(V left_dict, dict_of(ctx, left));
  if (right->kind == Kind::Set && right->type == &PySet_Type &&
      size_of(ctx, left_dict) <= dict_entries(ctx, right).size())
    return set_combine(ctx, SetOperation::Intersection, right, {&left, 1});
  if (is_view(right)) {
    MG_TRY(V right_dict, dict_of(ctx, right));
    if (size_of(ctx, right_dict) > size_of(ctx, left_dict))
      std::swap(left, right);
  }
  V made = ctx.set();
  std::vector<V> items;
  MG_DO(unpack(ctx, right, items));
  for (V item : items) {
    MG_TRY(const bool found, contains(ctx, left, item));
    if (found) MG_DO(set_add(ctx, made, item));
  }
  return made;
}

Outcome<V> items_in_one_only(Context& ctx, V left, V right) {
  MG_TRY(V left_dict, dict_of(ctx, left));
  MG_TRY(V right_dict, dict_of(ctx, right));
  V made = ctx.set();
  const Items left_items = items_of(ctx, left_dict);
  const Items right_items = items_of(ctx, right_dict);
  V both = ctx.set();
  for (size_t i = 0; i < right_items.keys.size(); ++i) {
    V key = right_items.keys[i];
    V pair = pair_of(ctx, key, right_items.values[i]);
    MG_TRY(const bool found, contains(ctx, left, pair));
    MG_DO(found ? set_add(ctx, both, key) : set_add(ctx, made, pair));
  }
  for (size_t i = 0; i < left_items.keys.size(); ++i) {
    V key = left_items.keys[i];
    MG_TRY(V found, dict_get(ctx, both, key));
    if (!found)
      MG_DO(set_add(ctx, made, pair_of(ctx, key, left_items.values[i])));
  }
  return made;
}

template <SetOperation operation, bool reflected>
Outcome<V> combine(Context& ctx, const Arguments& args) {
  V left = ctx.look(args.positional[reflected ? 1 : 0]);
  V right = ctx.look(args.positional[reflected ? 0 : 1]);
  if (operation == SetOperation::Intersection)
    return intersection(ctx, left, right);
  if (operation == SetOperation::SymmetricDifference && is_items_view(left) &&
      is_items_view(right))
    return items_in_one_only(ctx, left, right);
  // The keys of a dict are taken from it all at once.
  if (left->type == &PyDictKeys_Type) {
    MG_TRY(V dict, dict_of(ctx, left));
    if (dict->type == &PyDict_Type) left = dict;
  }
  V made = ctx.set();
  MG_DO(set_update(ctx, SetOperation::Union, made, left));
  MG_DO(set_update(ctx, operation, made, right));
  return made;
}

// Whether each item of `some` is in `all`, which needn't be hashable.
Outcome<bool> are_all_in(Context& ctx, V some, V all) {
  MG_TRY(V iterator, iterate(ctx, some));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return true;
    MG_TRY(const bool found, contains(ctx, all, item));
    if (!found) return false;
  }
}

template <int kind>
Outcome<V> compared(Context& ctx, const Arguments& args) {
  V left = receiver(ctx, args), right = ctx.look(args.positional[1]);
  if (!is_set(right) && !is_view(right))
    return ctx.constant_share(Py_NotImplemented);
  constexpr bool is_equality = kind == Py_EQ || kind == Py_NE;
  if (kind == Py_GT || kind == Py_GE) std::swap(left, right);
  MG_TRY(V left_size, length(ctx, left));
  MG_TRY(V right_size, length(ctx, right));
  constexpr int sizes = is_equality                      ? Py_EQ
                        : kind == Py_LT || kind == Py_GT ? Py_LT
                                                         : Py_LE;
  MG_TRY(V fits, compare(ctx, sizes, left_size, right_size));
  MG_TRY(bool result, truth(ctx, fits));
  if (result) {
    MG_TRY(result, are_all_in(ctx, left, right));
  }
  return ctx.boolean(result == (kind != Py_NE));
}

// Asks one for the other's items, which needn't be hashable then.
Outcome<V> is_disjoint(Context& ctx, const Arguments& args) {
  V asked = receiver(ctx, args);
  V other = ctx.look(args.positional[1]);
  if (is_set(other) || is_view(other)) {
    MG_TRY(V asked_size, length(ctx, asked));
    MG_TRY(V other_size, length(ctx, other));
    MG_TRY(V is_larger, compare(ctx, Py_GT, other_size, asked_size));
    MG_TRY(const bool swaps, truth(ctx, is_larger));
    if (swaps) std::swap(asked, other);
  }
  MG_TRY(V iterator, iterate(ctx, other));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return ctx.boolean(true);
    MG_TRY(const bool found, contains(ctx, asked, item));
    if (found) return ctx.boolean(false);
  }
  return ctx.boolean(true);
}

constexpr const char* kTypes = "<types>";

#define MG_BINARY(view, method, operation)                                    \
  {kTypes, view ".__" method "__", combine<operation, false>, 2, 2, nullptr}, \
  {                                                                           \
    kTypes, view ".__r" method "__", combine<operation, true>, 2, 2, nullptr  \
  }

#define MG_SET_LIKE(view)                                         \
  {kTypes, view ".__len__", count, 1, 1, nullptr},                \
      MG_BINARY(view, "and", SetOperation::Intersection),         \
      MG_BINARY(view, "or", SetOperation::Union),                 \
      MG_BINARY(view, "sub", SetOperation::Difference),           \
      MG_BINARY(view, "xor", SetOperation::SymmetricDifference),  \
      {kTypes, view ".__eq__", compared<Py_EQ>, 2, 2, nullptr},   \
      {kTypes, view ".__ne__", compared<Py_NE>, 2, 2, nullptr},   \
      {kTypes, view ".__lt__", compared<Py_LT>, 2, 2, nullptr},   \
      {kTypes, view ".__le__", compared<Py_LE>, 2, 2, nullptr},   \
      {kTypes, view ".__gt__", compared<Py_GT>, 2, 2, nullptr},   \
      {kTypes, view ".__ge__", compared<Py_GE>, 2, 2, nullptr}, { \
    kTypes, view ".isdisjoint", is_disjoint, 2, 2, nullptr        \
  }

constexpr Row kRows[] = {
    MG_SET_LIKE("dict_keys"),
    {kTypes, "dict_keys.__repr__", text<DictPart::Keys>, 1, 1, nullptr},
    {kTypes, "dict_values.__repr__", text<DictPart::Values>, 1, 1, nullptr},
    {kTypes, "dict_items.__repr__", text<DictPart::Items>, 1, 1, nullptr},
    {kTypes, "dict_keys.__contains__", contains_key, 2, 2, nullptr},
    {kTypes, "dict_keys.__iter__", iterate_part<DictPart::Keys, false>, 1, 1,
     nullptr},
    {kTypes, "dict_keys.__reversed__", iterate_part<DictPart::Keys, true>, 1, 1,
     nullptr},
    {kTypes, "odict_keys.__iter__", iterate_part<DictPart::Keys, false>, 1, 1,
     nullptr},
    {kTypes, "odict_keys.__reversed__", iterate_part<DictPart::Keys, true>, 1,
     1, nullptr},
    {kTypes, "dict_values.__len__", count, 1, 1, nullptr},
    {kTypes, "dict_values.__iter__", iterate_part<DictPart::Values, false>, 1,
     1, nullptr},
    {kTypes, "dict_values.__reversed__", iterate_part<DictPart::Values, true>,
     1, 1, nullptr},
    {kTypes, "odict_values.__iter__", iterate_part<DictPart::Values, false>, 1,
     1, nullptr},
    {kTypes, "odict_values.__reversed__", iterate_part<DictPart::Values, true>,
     1, 1, nullptr},
    MG_SET_LIKE("dict_items"),
    {kTypes, "dict_items.__contains__", contains_item, 2, 2, nullptr},
    {kTypes, "dict_items.__iter__", iterate_part<DictPart::Items, false>, 1, 1,
     nullptr},
    {kTypes, "dict_items.__reversed__", iterate_part<DictPart::Items, true>, 1,
     1, nullptr},
    {kTypes, "odict_items.__iter__", iterate_part<DictPart::Items, false>, 1, 1,
     nullptr},
    {kTypes, "odict_items.__reversed__", iterate_part<DictPart::Items, true>, 1,
     1, nullptr},
};

#undef MG_SET_LIKE
#undef MG_BINARY

}  // namespace

std::span<const Row> dict_view_rows() { return kRows; }

}  // namespace magneto::natives
