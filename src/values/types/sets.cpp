// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/sets.h"

#include <algorithm>

#include "guards/constant.h"
#include "python/key_token.h"
#include "python/set_table.h"
#include "values/protocol/hashing.h"

namespace magneto::values {

std::vector<SetChange> set_history(const DictState& set) {
  std::vector<const DictEntry*> removed;
  for (const DictEntry& entry : set.entries)
    if (!entry.value && entry.written) removed.push_back(&entry);
  std::ranges::sort(removed, {}, &DictEntry::deletion);
  std::vector<SetChange> history;
  auto next = removed.begin();
  auto merge = set.merges.begin();
  for (size_t i = 0; i <= set.entries.size(); ++i) {
    for (;;) {
      if (merge != set.merges.end() && merge->entries == i &&
          (next == removed.end() || merge->deletions <= (*next)->deletion))
        history.push_back({.merge = &*merge++});
      else if (next != removed.end() && (*next)->entries_before == i)
        history.push_back({*next++, true});
      else
        break;
    }
    if (i == set.entries.size()) break;
    const DictEntry& entry = set.entries[i];
    // The rest was looked for and not found.
    if (entry.value || entry.written) history.push_back({&entry, false});
  }
  return history;
}

namespace {

// A set of the tokens, made as CPython made the set. Of a caller's, its table
// is guarded.
Ref real_set(Context& ctx, V set) {
  const DictState& state = *ctx.heap[set->heap].dict;
  const bool is_callers = set->object && !state.is_cleared;
  if (is_callers) ctx.guards.set_table(set->source, set->object);
  Ref real = is_callers ? python::copy_of_set(set->object)
                        : Ref::steal(PySet_New(nullptr));
  MG_CHECK(real, "out of memory");
  if (state.finger)
    python::write_finger(real, *state.finger);
  else if (set->object && state.is_cleared)
    python::write_finger(real, python::set_finger(set->object));
  const bool pops = has_plain_history(state);
  for (const SetChange& change : set_history(state)) {
    if (change.merge) {
      Ref changed = Ref::steal(PyObject_CallMethod(
          real, change.merge->drops ? "difference_update" : "update", "O",
          change.merge->other.get()));
      MG_CHECK(changed, "tokens are hashable");
      continue;
    }
    if (change.is_removed && change.entry->is_popped && pops) {
      Ref popped = Ref::steal(PySet_Pop(real));
      MG_CHECK(popped, "what is popped was there");
      continue;
    }
    const int result = change.is_removed
                           ? PySet_Discard(real, change.entry->token)
                           : PySet_Add(real, change.entry->token);
    MG_CHECK(result >= 0, "tokens are hashable");
  }
  return real;
}

// Data that refers to nothing else: a program may keep it.
bool is_plain(PyObject* key) {
  return guards::is_constant(key) && guards::is_plain_key(key);
}
bool is_plain(V key) {
  return key->is_constant() && !key->heap.valid() && is_plain(key->object);
}

// The set that takes them all at once gets another table than one that takes
// them one by one, which is all that a piece can do with such keys.
void expect_no_own_keys(Context& ctx, V container) {
  for (const DictEntry* entry : dict_entries(ctx, container))
    if (python::holds_key_token(entry->token))
      throw BreakException{
          {"set-item", std::string("a set that takes all items of a ") +
                           container->type->tp_name + ", of which one is a " +
                           entry->key->type->tp_name}};
}

// The real set or dict that `right` is, as CPython would have made it, if it is
// one of plain constants; else null.
Ref real_operand(Context& ctx, V right) {
  if (right->is_constant())
    return PyFrozenSet_CheckExact(right->object) && is_plain(right->object)
               ? Ref::share(right->object)
               : nullptr;
  if (right->kind != Kind::Set && right->type != &PyDict_Type) return nullptr;
  if (!ctx.own_keys().empty()) expect_no_own_keys(ctx, right);
  if (right->kind == Kind::Set) return plain_set(ctx, right);
  Ref keys = Ref::steal(PyDict_New());
  MG_CHECK(keys, "out of memory");
  for (const DictEntry* entry : dict_entries(ctx, right)) {
    V key = ctx.look(entry->key);
    if (!is_plain(key)) return nullptr;
    MG_CHECK(PyDict_SetItem(keys, key->object, Py_None) == 0,
             "plain constants are hashable");
  }
  return keys;
}

// Notes that `left` takes all items of `right` at once, if that is how CPython
// does it and the items are plain.
void note_merge(Context& ctx, V left, V right) {
  if (left == right) return;
  Ref other = real_operand(ctx, right);
  if (other && PyObject_Size(other) > 0)
    ctx.heap.set_merge(left->heap, std::move(other), /*drops=*/false);
}

// Notes that `left` is about to drop all that is in the Set `other`, after
// which CPython may shrink the table.
void note_drop(Context& ctx, V left, V other) {
  Ref items = Ref::steal(PySet_New(nullptr));
  MG_CHECK(items, "out of memory");
  for (const DictEntry* entry : dict_entries(ctx, other)) {
    if (!is_plain(ctx.look(entry->key))) return;
    MG_CHECK(PySet_Add(items, entry->token) == 0, "tokens are hashable");
  }
  ctx.heap.set_merge(left->heap, std::move(items), /*drops=*/true);
}

}  // namespace

std::vector<const DictEntry*> set_entries(Context& ctx, V set) {
  auto entries = dict_entries(ctx, set);
  if (entries.size() < 2) return entries;
  const HeapObject& state = ctx.heap[set->heap];
  // A caller's set was read in its own order.
  if (set->object && state.changes == 0) {
    ctx.guards.set_table(set->source, set->object);
    return entries;
  }
  const Ref real = real_set(ctx, set);
  Ref order = Ref::steal(PySequence_Tuple(real));
  MG_CHECK(order, "out of memory");
  for (size_t i = 0; i < entries.size(); ++i) {
    Py_ssize_t position = ctx.heap.find(
        set->heap, PyTuple_GET_ITEM(order.get(), static_cast<Py_ssize_t>(i)));
    MG_CHECK(position >= 0, "a token is found again");
    entries[i] = &state.dict->entries[static_cast<size_t>(position)];
  }
  return entries;
}

Ref plain_set(Context& ctx, V set) {
  for (const DictEntry* entry : dict_entries(ctx, set))
    if (!is_plain(ctx.look(entry->key))) return nullptr;
  Ref real = real_set(ctx, set);
  if (!PyType_IsSubtype(set->type, &PySet_Type)) python::freeze(real);
  return real;
}

bool has_plain_history(const DictState& set) {
  return std::ranges::all_of(set.entries, [](const DictEntry& entry) {
    return (!entry.value && !entry.written) || entry.key->is_constant();
  });
}

Status set_clear(Context& ctx, V set) {
  const DictState& state = *ctx.heap[set->heap].dict;
  std::optional<Py_ssize_t> finger = state.finger;
  const bool has_popped = std::ranges::any_of(
      state.entries,
      [](const DictEntry& each) { return !each.value && each.is_popped; });
  if (has_popped) {
    const Ref real = real_set(ctx, set);
    finger = python::set_finger(real);
  }
  ctx.heap.dict_clear(set->heap, finger);
  return done;
}

Outcome<V> set_pop(Context& ctx, V set) {
  if (dict_entries(ctx, set).empty()) return V(nullptr);
  const DictState& state = *ctx.heap[set->heap].dict;
  // Where its pop() looks matters now.
  if (set->object && state.is_cleared && !state.finger)
    ctx.guards.set_table(set->source, set->object);
  const Ref real = real_set(ctx, set);
  const Ref token = Ref::steal(PySet_Pop(real));
  MG_CHECK(token, "a set with items gives one");
  const Py_ssize_t position = ctx.heap.find(set->heap, token);
  MG_CHECK(position >= 0, "a token is found again");
  V item = ctx.heap[set->heap].dict->entries[static_cast<size_t>(position)].key;
  ctx.heap.dict_delete(set->heap, token, /*is_popped=*/true);
  return item;
}

Status set_add(Context& ctx, V set, V item) {
  MG_TRY(V found, dict_get(ctx, set, item));
  if (found) return done;
  return dict_set(ctx, set, item, item);
}

V set_key(Context& ctx, V item) {
  item = ctx.look(item);
  if (item->kind != Kind::Set ||
      PyType_IsSubtype(item->type, &PyFrozenSet_Type))
    return item;
  rely_on_hash(ctx, item->type);
  if (item->type->tp_hash != PyObject_HashNotImplemented) return item;
  V frozen = ctx.set(&PyFrozenSet_Type);
  for (const DictEntry* entry : dict_entries(ctx, item))
    ctx.heap.dict_set(frozen->heap, entry->key, entry->value, entry->token);
  return settle_frozenset(ctx, frozen);
}

bool is_set(V value) {
  return value->kind == Kind::Set ||
         (value->is_constant() && PyFrozenSet_Check(value->object));
}

Outcome<V> to_set(Context& ctx, V iterable) {
  iterable = ctx.look(iterable);
  if (iterable->kind == Kind::Set) return iterable;
  std::vector<V> items;
  MG_DO(unpack(ctx, iterable, items));
  V made = ctx.set();
  for (V item : items) MG_DO(set_add(ctx, made, item));
  return made;
}

V settle_frozenset(Context& ctx, V set) {
  if (set->kind != Kind::Set || set->type != &PyFrozenSet_Type) return set;
  for (const DictEntry* entry : dict_entries(ctx, set))
    if (!ctx.look(entry->key)->is_constant()) return set;
  PyObject* real = as_constant(ctx, set);
  return real ? ctx.constant_share(real) : set;
}

namespace {

std::vector<V> keys_of(std::span<const DictEntry* const> entries) {
  std::vector<V> keys(entries.size());
  std::ranges::transform(entries, keys.begin(), &DictEntry::key);
  return keys;
}
// The items as they are now, since what follows may write to the set: in the
// set's order, or in any.
std::vector<V> ordered_items(Context& ctx, V set) {
  return keys_of(set_entries(ctx, set));
}
std::vector<V> inserted_items(Context& ctx, V set) {
  return keys_of(dict_entries(ctx, set));
}

// Of a set its own items, whatever the __iter__ of its class says.
Status take_items(Context& ctx, V iterable, std::vector<V>& into) {
  if (iterable->kind != Kind::Set) return unpack(ctx, iterable, into);
  into = ordered_items(ctx, iterable);
  return done;
}

Status discard(Context& ctx, V set, V item) {
  MG_TRY(V old, dict_pop(ctx, set, item));
  (void)old;
  return done;
}

// Whether asking an iterable for its items may run code of the program's, which
// may change the set that they are for.
bool runs_code(V iterable) {
  return iterable->kind == Kind::Object || iterable->kind == Kind::Iterator ||
         iterable->kind == Kind::Generator;
}

// Hands on each item before the next one is asked for.
template <typename Take>
Status each_item(Context& ctx, V iterable, Take take) {
  if (!runs_code(iterable)) {
    std::vector<V> items;
    MG_DO(unpack(ctx, iterable, items));
    for (V item : items) MG_DO(take(item));
    return done;
  }
  MG_TRY(V iterator, iterate(ctx, iterable));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return done;
    MG_DO(take(item));
  }
}

// CPython takes the items of the smaller set, or of any other iterable, that
// are in the other one: so does this, for the order of what comes out.
Status add_common(Context& ctx, V made, V left, V right) {
  right = ctx.look(right);
  if (!is_set(right)) {
    // Until there is nothing left to find.
    MG_TRY(V wanted, to_set(ctx, left));
    const size_t most = dict_entries(ctx, wanted).size();
    MG_TRY(V iterator, iterate(ctx, right));
    for (;;) {
      MG_TRY(V item, next(ctx, iterator));
      if (!item) return done;
      MG_TRY(V found, dict_get(ctx, wanted, item));
      if (!found) continue;
      MG_DO(set_add(ctx, made, item));
      if (dict_entries(ctx, made).size() >= most) return done;
    }
  }
  std::vector<V> items, others;
  MG_DO(take_items(ctx, right, items));
  MG_DO(take_items(ctx, left, others));
  if (is_set(right) && items.size() > others.size()) {
    std::swap(left, right);
    std::swap(items, others);
  }
  MG_TRY(V container, to_set(ctx, left));
  for (V item : items) {
    MG_TRY(V found, dict_get(ctx, container, item));
    if (found) MG_DO(set_add(ctx, made, item));
  }
  return done;
}

}  // namespace

Status set_update(Context& ctx, SetOperation operation, V left, V right) {
  right = ctx.look(right);
  if (operation == SetOperation::Union) note_merge(ctx, left, right);
  if (operation == SetOperation::Union && !is_set(right))
    return each_item(ctx, right,
                     [&](V item) { return set_add(ctx, left, item); });
  if (operation == SetOperation::Intersection)
    return set_keep_common(ctx, left, {&right, 1});
  if (operation != SetOperation::Union && left == right) {
    return set_clear(ctx, left);
  }
  if (operation == SetOperation::Difference && runs_code(right)) {
    MG_DO(each_item(ctx, right,
                    [&](V item) { return discard(ctx, left, item); }));
    note_drop(ctx, left, ctx.set());
    return done;
  }
  MG_TRY(V other, to_set(ctx, right));
  if (operation == SetOperation::Difference) {
    note_drop(ctx, left, other);
    for (V item : inserted_items(ctx, other)) MG_DO(discard(ctx, left, item));
    return done;
  }
  // Those of other iterables come out of a set of them.
  std::vector<V> items;
  if (is_set(right) || right->type == &PyDict_Type)
    MG_DO(take_items(ctx, right, items));
  else
    items = ordered_items(ctx, other);
  for (V item : items)
    if (operation == SetOperation::Union) {
      MG_DO(set_add(ctx, left, item));
    } else {
      MG_TRY(V old, dict_pop(ctx, left, item));
      if (!old) MG_DO(dict_set(ctx, left, item, item));
    }
  return done;
}

namespace {

// Puts into the empty `made` what the operation makes of both.
Status combine_two(Context& ctx, SetOperation operation, V made, V left,
                   V right) {
  left = ctx.look(left);
  right = ctx.look(right);
  if (operation == SetOperation::Intersection && left != right)
    return add_common(ctx, made, left, right);
  if (operation == SetOperation::Difference &&
      (is_set(right) || right->type == &PyDict_Type)) {
    // From a set that is not much larger CPython picks what stays.
    std::vector<V> items, others;
    MG_DO(take_items(ctx, left, items));
    MG_DO(take_items(ctx, right, others));
    if (items.size() / 4 <= others.size()) {
      MG_TRY(V container, to_set(ctx, right));
      for (V item : items) {
        MG_TRY(V found, dict_get(ctx, container, item));
        if (!found) MG_DO(set_add(ctx, made, item));
      }
      return done;
    }
  }
  // Begun with the second one, as CPython does.
  if (operation == SetOperation::SymmetricDifference) std::swap(left, right);
  MG_DO(set_update(ctx, SetOperation::Union, made, left));
  if (left == right && (operation == SetOperation::Union ||
                        operation == SetOperation::Intersection))
    return done;
  return set_update(ctx, operation, made, right);
}

}  // namespace

Outcome<V> set_combine(Context& ctx, SetOperation operation, V left,
                       std::span<const V> rights) {
  PyTypeObject* type = PyType_IsSubtype(ctx.look(left)->type, &PySet_Type)
                           ? &PySet_Type
                           : &PyFrozenSet_Type;
  V made = ctx.set(type);
  MG_DO(combine_two(ctx, operation, made, left, rights[0]));
  left = ctx.look(left);
  for (V right : rights.subspan(1)) {
    right = ctx.look(right);
    if (operation == SetOperation::Intersection) {
      V common = ctx.set(type);
      MG_DO(combine_two(ctx, operation, common, made, right));
      made = common;
    } else if (operation != SetOperation::Union || left != right) {
      MG_DO(set_update(ctx, operation, made, right));
    }
  }
  return settle_frozenset(ctx, made);
}

Status set_keep_common(Context& ctx, V set, std::span<const V> others) {
  // The table of a new set is taken over; of a set with itself, of a copy.
  Ref table;
  std::vector<V> items;
  if (others.empty() || (others.size() == 1 && ctx.look(others[0]) == set)) {
    table = plain_set(ctx, set);
    items = ordered_items(ctx, set);
  } else {
    MG_TRY(V common, set_combine(ctx, SetOperation::Intersection, set, others));
    items = inserted_items(ctx, common);
  }
  MG_DO(set_clear(ctx, set));
  if (table) ctx.heap.set_merge(set->heap, std::move(table), /*drops=*/false);
  for (V item : items) MG_DO(set_add(ctx, set, item));
  return done;
}

Outcome<bool> set_compare(Context& ctx, int kind, V left, V right) {
  MG_TRY(V a, to_set(ctx, left));
  MG_TRY(V b, to_set(ctx, right));
  size_t a_size = dict_entries(ctx, a).size();
  size_t b_size = dict_entries(ctx, b).size();
  switch (kind) {
    case Py_EQ:
    case Py_NE:
      if (a_size != b_size) return kind == Py_NE;
      break;
    case Py_LT:
    case Py_GT:
      if (kind == Py_LT ? a_size >= b_size : a_size <= b_size) return false;
      break;
    default:
      break;
  }
  // Whether the smaller one's items are all in the larger one.
  if (kind == Py_GT || kind == Py_GE) std::swap(a, b);
  for (V item : inserted_items(ctx, a)) {
    MG_TRY(V found, dict_get(ctx, b, item));
    if (!found) return kind == Py_NE;
  }
  return kind != Py_NE;
}

Outcome<bool> set_is_disjoint(Context& ctx, V left, V right) {
  MG_TRY(V a, to_set(ctx, left));
  right = ctx.look(right);
  if (right->type != &PySet_Type && right->type != &PyFrozenSet_Type) {
    MG_TRY(V iterator, iterate(ctx, right));
    for (;;) {
      MG_TRY(V item, next(ctx, iterator));
      if (!item) return true;
      MG_TRY(V found, dict_get(ctx, a, item));
      if (found) return false;
    }
  }
  MG_TRY(V b, to_set(ctx, right));
  if (dict_entries(ctx, a).size() > dict_entries(ctx, b).size())
    std::swap(a, b);
  for (V item : inserted_items(ctx, a)) {
    MG_TRY(V found, dict_get(ctx, b, item));
    if (found) return false;
  }
  return true;
}

}  // namespace magneto::values
