// SPDX-License-Identifier: BSD-3-Clause
// Methods and slots of dict. What a subclass overrides has been looked at
// before a row is reached, so these use the dict's own storage.
#include "natives/builtins/dicts.h"

#include "natives/signature.h"
#include "python/names.h"
#include "python/types.h"
#include "values/protocol/hashing.h"
#include "values/types/dict_iterators.h"
#include "values/types/dict_views.h"
#include "values/types/exceptions.h"

namespace magneto::natives {

Signal key_error(Context& ctx, V key) {
  return ctx.raise_value(make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_KeyError), {&key, 1}));
}

Items items_of(Context& ctx, V dict) {
  Items items;
  for (const DictEntry* entry : dict_entries(ctx, dict)) {
    items.keys.push_back(entry->key);
    items.values.push_back(entry->value);
  }
  return items;
}

Outcome<V> pop_item(Context& ctx, V dict, bool last) {
  auto entries = dict_entries(ctx, dict);
  if (entries.empty())
    return key_error(ctx, ctx.string(is_instance_of(dict, &PyODict_Type)
                                         ? "dictionary is empty"
                                         : "popitem(): dictionary is empty"));
  const DictEntry* entry = last ? entries.back() : entries.front();
  V pair[] = {entry->key, entry->value};
  MG_TRY(V removed, dict_pop(ctx, dict, entry->key));
  (void)removed;
  return ctx.tuple(pair);
}

namespace {

Outcome<V> receiver(Context& ctx, const Arguments& args) {
  V dict = ctx.look(args.positional[0]);
  if (dict->kind == Kind::Dict) return dict;
  return ctx.graph_break(
      "native-call",
      std::string("a method of a ") + python::short_name(dict->type),
      "use it outside of the compiled function");
}

Status store(Context& ctx, V dict, V key, V value, bool through_items) {
  return through_items ? set_item(ctx, dict, key, value)
                       : dict_set(ctx, dict, key, value);
}

// A key and its value, as OrderedDict takes them out of `pair`.
Status ordered_pair(Context& ctx, V pair, std::vector<V>& parts) {
  MG_TRY(V iterator, iterate(ctx, pair));
  for (;;) {
    MG_TRY(V part, next(ctx, iterator));
    if (!part && parts.size() == 2) return done;
    if (!part)
      return ctx.raise(PyExc_ValueError,
                       parts.empty() ? "need more than 0 values to unpack"
                                     : "need more than 1 value to unpack");
    if (parts.size() == 2)
      return ctx.raise(PyExc_ValueError,
                       "too many values to unpack (expected 2)");
    parts.push_back(part);
  }
}

Status update_from_pairs(Context& ctx, V into, V pairs, bool through_items) {
  MG_TRY(V iterator, iterate(ctx, pairs));
  for (size_t i = 0;; ++i) {
    MG_TRY(V pair, next(ctx, iterator));
    if (!pair) return done;
    std::vector<V> parts;
    if (through_items) {
      MG_DO(ordered_pair(ctx, pair, parts));
      MG_DO(set_item(ctx, into, parts[0], parts[1]));
      continue;
    }
    Status unpacked = unpack(ctx, pair, parts);
    if (!unpacked) {
      if (unpacked.signal() == Signal::Raised &&
          ctx.exception_is(PyExc_TypeError)) {
        (void)ctx.take_exception();
        return ctx.raise(PyExc_TypeError,
                         "cannot convert dictionary update sequence element #" +
                             std::to_string(i) + " to a sequence");
      }
      return unpacked;
    }
    if (parts.size() != 2)
      return ctx.raise(PyExc_ValueError,
                       "dictionary update sequence element #" +
                           std::to_string(i) + " has length " +
                           std::to_string(parts.size()) + "; 2 is required");
    MG_DO(dict_set(ctx, into, parts[0], parts[1]));
  }
}

// From what has a method `keys`. A dict looks for it once more to call it, and
// lists the keys before it asks for the first item.
Status update_from_keys(Context& ctx, V into, V other, V keys,
                        bool through_items) {
  if (through_items) {
    MG_TRY(V listed, call(ctx, keys, {}));
    MG_TRY(V iterator, iterate(ctx, listed));
    for (;;) {
      MG_TRY(V key, next(ctx, iterator));
      if (!key) return done;
      MG_TRY(V value, get_item(ctx, other, key));
      MG_DO(store(ctx, into, key, value, through_items));
    }
  }
  MG_TRY(keys, get_attribute(ctx, other, interned().keys));
  std::vector<V> each;
  MG_DO(values::take_keys(ctx, other, keys, each));
  for (V key : each) {
    MG_TRY(V value, get_item(ctx, other, key));
    MG_DO(store(ctx, into, key, value, through_items));
  }
  return done;
}

// The same of what an OrderedDict is updated from, which looks at no __iter__.
bool is_taken_directly(Context& ctx, PyTypeObject* type) {
  return !own_special(ctx, type, interned().keys) &&
         !own_special(ctx, type, interned().dunder_getitem) &&
         type->tp_getattro == PyODict_Type.tp_getattro;
}

}  // namespace

Status update_dict(Context& ctx, V into, V other, const Arguments& keywords,
                   bool through_items) {
  if (other) {
    other = ctx.look(other);
    if (other->kind == Kind::Dict &&
        (through_items ? is_taken_directly(ctx, other->type)
                       : is_merged_directly(ctx, other->type))) {
      Items items = items_of(ctx, other);
      for (size_t i = 0; i < items.keys.size(); ++i)
        MG_DO(store(ctx, into, items.keys[i], items.values[i], through_items));
    } else {
      MG_TRY(V keys, find_attribute(ctx, other, interned().keys));
      if (keys) {
        MG_DO(update_from_keys(ctx, into, other, keys, through_items));
      } else {
        MG_DO(update_from_pairs(ctx, into, other, through_items));
      }
    }
  }
  for (size_t i = 0; i < keywords.keyword_names.size(); ++i)
    MG_DO(store(ctx, into, ctx.constant_share(keywords.keyword_names[i]),
                keywords.keyword_values[i], through_items));
  return done;
}

namespace {

// dict(x) and dict.update(x) ask a subclass for its keys(), and go the way of
// update_dict() all the same.
Status update_from_any(Context& ctx, V into, V other,
                       const Arguments& keywords) {
  if (other) {
    other = ctx.look(other);
    if (other->kind == Kind::Dict &&
        other->type->tp_getattro != PyObject_GenericGetAttr) {
      MG_TRY(V keys, find_attribute(ctx, other, interned().keys));
      if (!keys) {
        MG_DO(update_from_pairs(ctx, into, other, false));
        other = nullptr;
      }
    }
  }
  return update_dict(ctx, into, other, keywords, false);
}

Outcome<V> make_dict(Context& ctx, const Arguments& args) {
  V made = ctx.dict();
  MG_DO(update_from_any(ctx, made, argument(args, 0), args));
  return made;
}

Outcome<V> initialise(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  MG_DO(update_from_any(ctx, dict, argument(args, 1), args));
  return ctx.none();
}

// dict.__new__(cls, ...)
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (!type->is_constant() || !PyType_Check(type->object) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type->object),
                        &PyDict_Type))
    return ctx.raise(PyExc_TypeError,
                     "dict.__new__(X): X is not a subtype of dict");
  return ctx.dict(reinterpret_cast<PyTypeObject*>(type->object));
}

Outcome<V> from_keys(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  MG_TRY(V made, call(ctx, type, {}));
  V value = args.count() > 2 ? args.positional[2] : ctx.none();
  MG_TRY(V iterator, iterate(ctx, args.positional[1]));
  for (;;) {
    MG_TRY(V key, next(ctx, iterator));
    if (!key) return made;
    MG_DO(set_item(ctx, made, key, value));
  }
}

Outcome<V> get(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  MG_TRY(V value, dict_get(ctx, dict, args.positional[1]));
  if (value) return value;
  return args.count() > 2 ? args.positional[2] : ctx.none();
}

Outcome<V> set_default(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  MG_TRY(V value, dict_get(ctx, dict, args.positional[1]));
  if (value) return value;
  value = args.count() > 2 ? args.positional[2] : ctx.none();
  MG_DO(dict_set(ctx, dict, args.positional[1], value));
  return value;
}

Outcome<V> pop(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  // An empty one asks for no hash.
  V key = ctx.look_symbolic(args.positional[1]);
  values::rely_on_hash(ctx, key->type);
  const bool may_be_heard = key->type->tp_hash == PyObject_HashNotImplemented ||
                            key->kind == Kind::Tuple ||
                            (key->type->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (!may_be_heard || !dict_entries(ctx, dict).empty()) {
    MG_TRY(V value, dict_pop(ctx, dict, args.positional[1]));
    if (value) return value;
  }
  if (args.count() > 2) return args.positional[2];
  return key_error(ctx, args.positional[1]);
}

Outcome<V> pop_last(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  return pop_item(ctx, dict, true);
}

Outcome<V> update(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  MG_DO(update_from_any(ctx, dict, argument(args, 1), args));
  return ctx.none();
}

Outcome<V> clear(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  ctx.heap.dict_complete(dict->heap, ctx);
  ctx.heap.dict_clear(dict->heap);
  return ctx.none();
}

Outcome<V> copy(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  V made = ctx.dict();
  MG_DO(update_dict(ctx, made, dict, {}, false));
  return made;
}

Outcome<V> keys(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  return dict_view(ctx, dict, "keys");
}
Outcome<V> values(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  return dict_view(ctx, dict, "values");
}
Outcome<V> items(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  return dict_view(ctx, dict, "items");
}

Outcome<V> slot_or(Context& ctx, const Arguments& args) {
  V left = ctx.look(args.positional[0]);
  V right = ctx.look(args.positional[1]);
  if (left->kind != Kind::Dict || right->kind != Kind::Dict)
    return ctx.constant_share(Py_NotImplemented);
  V made = ctx.dict();
  MG_DO(update_dict(ctx, made, left, {}, false));
  MG_DO(update_from_any(ctx, made, right, {}));
  return made;
}

Outcome<V> slot_reflected_or(Context& ctx, const Arguments& args) {
  V swapped[] = {args.positional[1], args.positional[0]};
  return slot_or(ctx, {.positional = swapped});
}

Outcome<V> slot_in_place_or(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  MG_DO(update_from_any(ctx, dict, args.positional[1], {}));
  return dict;
}

Outcome<V> slot_reversed(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, receiver(ctx, args));
  return dict_iterator(ctx, dict, DictPart::Keys, true);
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "dict", make_dict, 0, 1, "*"},
    {kBuiltins, "dict.__new__", make_of_class, 1, kAny, "*"},
    {kBuiltins, "dict.__init__", initialise, 1, 2, "*"},
    {kBuiltins, "dict.fromkeys", from_keys, 2, 3, nullptr},
    {kBuiltins, "dict.get", get, 2, 3, nullptr},
    {kBuiltins, "dict.setdefault", set_default, 2, 3, nullptr},
    {kBuiltins, "dict.pop", pop, 2, 3, nullptr},
    {kBuiltins, "dict.popitem", pop_last, 1, 1, nullptr},
    {kBuiltins, "dict.update", update, 1, 2, "*"},
    {kBuiltins, "dict.clear", clear, 1, 1, nullptr},
    {kBuiltins, "dict.copy", copy, 1, 1, nullptr},
    {kBuiltins, "dict.keys", keys, 1, 1, nullptr},
    {kBuiltins, "dict.values", values, 1, 1, nullptr},
    {kBuiltins, "dict.items", items, 1, 1, nullptr},
    {kBuiltins, "dict.__or__", slot_or, 2, 2, nullptr},
    {kBuiltins, "dict.__ror__", slot_reflected_or, 2, 2, nullptr},
    {kBuiltins, "dict.__ior__", slot_in_place_or, 2, 2, nullptr},
    {kBuiltins, "dict.__reversed__", slot_reversed, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> dict_rows() { return kRows; }

}  // namespace magneto::natives
