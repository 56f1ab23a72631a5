// SPDX-License-Identifier: BSD-3-Clause
// Methods of set and frozenset; the algebra is in values/types/sets.h.
#include "values/types/sets.h"

#include "natives/builtins/dicts.h"
#include "natives/signature.h"

namespace magneto::natives {

namespace {

Outcome<V> set_receiver(Context& ctx, const Arguments& args) {
  V set = ctx.look(args.positional[0]);
  MG_CHECK(set->kind == Kind::Set, "a set of the program's is a Set");
  return set;
}

// What a copy of the set is: copies of subclasses are plain sets.
PyTypeObject* base_of(V set) {
  return PyType_IsSubtype(set->type, &PySet_Type) ? &PySet_Type
                                                  : &PyFrozenSet_Type;
}

Outcome<V> fill(Context& ctx, V made, V iterable) {
  if (iterable) MG_DO(set_update(ctx, SetOperation::Union, made, iterable));
  return made;
}

Outcome<V> make_set(Context& ctx, const Arguments& args) {
  return fill(ctx, ctx.set(), argument(args, 0));
}

Outcome<V> make_frozenset(Context& ctx, const Arguments& args) {
  V iterable = argument(args, 0);
  if (iterable) {
    iterable = ctx.look(iterable);
    if (iterable->type == &PyFrozenSet_Type) return iterable;
  }
  MG_TRY(V made, fill(ctx, ctx.set(&PyFrozenSet_Type), iterable));
  return settle_frozenset(ctx, made);
}

// set.__new__(cls, ...) and frozenset.__new__(cls, iterable)
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type_value = ctx.look(args.positional[0]);
  auto* type = reinterpret_cast<PyTypeObject*>(type_value->object);
  if (!type_value->is_constant() || !PyType_Check(type_value->object) ||
      !(PyType_IsSubtype(type, &PySet_Type) ||
        PyType_IsSubtype(type, &PyFrozenSet_Type)))
    return ctx.raise(PyExc_TypeError,
                     "set.__new__(X): X is not a subtype of set");
  const bool frozen = PyType_IsSubtype(type, &PyFrozenSet_Type);
  if (frozen)
    MG_DO(check_iterable_argument(
        ctx, args, args.has_keywords() ? "frozenset" : type->tp_name,
        type->tp_init != PyFrozenSet_Type.tp_init));
  MG_TRY(V made,
         fill(ctx, ctx.set(type), frozen ? argument(args, 1) : nullptr));
  return settle_frozenset(ctx, made);
}

Outcome<V> initialise(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  MG_DO(check_iterable_argument(
      ctx, args, args.has_keywords() ? "set" : set->type->tp_name, false));
  if (!dict_entries(ctx, set).empty()) MG_DO(set_clear(ctx, set));
  MG_TRY(set, fill(ctx, set, argument(args, 1)));
  return ctx.none();
}

Outcome<V> add(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  MG_DO(set_add(ctx, set, args.positional[1]));
  return ctx.none();
}

Outcome<V> discard(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  MG_TRY(V old, dict_pop(ctx, set, set_key(ctx, args.positional[1])));
  (void)old;
  return ctx.none();
}

Outcome<V> remove(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  MG_TRY(V old, dict_pop(ctx, set, set_key(ctx, args.positional[1])));
  return old ? Outcome<V>(ctx.none()) : key_error(ctx, args.positional[1]);
}

Outcome<V> pop(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  MG_TRY(V item, set_pop(ctx, set));
  return item ? Outcome<V>(item)
              : key_error(ctx, ctx.string("pop from an empty set"));
}

Outcome<V> clear(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  MG_DO(set_clear(ctx, set));
  return ctx.none();
}

Outcome<V> copied(Context& ctx, V set) {
  MG_TRY(V made, fill(ctx, ctx.set(base_of(set)), set));
  return settle_frozenset(ctx, made);
}

Outcome<V> copy(Context& ctx, const Arguments& args) {
  V set = ctx.look(args.positional[0]);
  if (set->type == &PyFrozenSet_Type) return set;
  return copied(ctx, set);
}

template <SetOperation operation>
Outcome<V> combine(Context& ctx, const Arguments& args) {
  if (args.count() == 1) return copied(ctx, ctx.look(args.positional[0]));
  return set_combine(ctx, operation, args.positional[0],
                     args.positional.subspan(1));
}

template <SetOperation operation>
Outcome<V> update(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  for (V other : args.positional.subspan(1))
    MG_DO(set_update(ctx, operation, set, other));
  return ctx.none();
}

Outcome<V> keep_common(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  MG_DO(set_keep_common(ctx, set, args.positional.subspan(1)));
  return ctx.none();
}

template <int kind>
Outcome<V> related(Context& ctx, const Arguments& args) {
  if (kind == Py_GE && !is_set(ctx.look(args.positional[1]))) {
    MG_TRY(V set, to_set(ctx, args.positional[0]));
    MG_TRY(V iterator, iterate(ctx, args.positional[1]));
    for (;;) {
      MG_TRY(V item, next(ctx, iterator));
      if (!item) return ctx.boolean(true);
      MG_TRY(V found, dict_get(ctx, set, item));
      if (!found) return ctx.boolean(false);
    }
  }
  MG_TRY(V other, to_set(ctx, args.positional[1]));
  MG_TRY(bool result,
         set_compare(ctx, kind, ctx.look(args.positional[0]), other));
  return ctx.boolean(result);
}

Outcome<V> is_disjoint(Context& ctx, const Arguments& args) {
  MG_TRY(const bool result,
         set_is_disjoint(ctx, args.positional[0], args.positional[1]));
  return ctx.boolean(result);
}

// -- operators ----------------------------------------------------------------

template <SetOperation operation, bool reflected>
Outcome<V> slot_combine(Context& ctx, const Arguments& args) {
  V left = ctx.look(args.positional[reflected ? 1 : 0]);
  V right = ctx.look(args.positional[reflected ? 0 : 1]);
  if (!is_set(left) || !is_set(right))
    return ctx.constant_share(Py_NotImplemented);
  return set_combine(ctx, operation, left, {&right, 1});
}

template <SetOperation operation>
Outcome<V> slot_update(Context& ctx, const Arguments& args) {
  MG_TRY(V set, set_receiver(ctx, args));
  if (!is_set(ctx.look(args.positional[1])))
    return ctx.constant_share(Py_NotImplemented);
  MG_DO(set_update(ctx, operation, set, args.positional[1]));
  return set;
}

constexpr const char* kBuiltins = "builtins";

#define MG_OPERATOR(type, name, operation)                                 \
  {kBuiltins, type ".__" name "__", slot_combine<operation, false>, 2, 2,  \
   nullptr},                                                               \
  {                                                                        \
    kBuiltins, type ".__r" name "__", slot_combine<operation, true>, 2, 2, \
        nullptr                                                            \
  }

#define MG_OPERATORS(type)                                \
  MG_OPERATOR(type, "and", SetOperation::Intersection),   \
      MG_OPERATOR(type, "or", SetOperation::Union),       \
      MG_OPERATOR(type, "sub", SetOperation::Difference), \
      MG_OPERATOR(type, "xor", SetOperation::SymmetricDifference)

#define MG_COMMON(type)                                                 \
  {kBuiltins, type ".__new__", make_of_class, 1, kAny, "*"},            \
      {kBuiltins, type ".copy", copy, 1, 1, nullptr},                   \
      {kBuiltins, type ".union", combine<SetOperation::Union>,          \
       1,         kAny,          nullptr},                              \
      {kBuiltins,                                                       \
       type ".intersection",                                            \
       combine<SetOperation::Intersection>,                             \
       1,                                                               \
       kAny,                                                            \
       nullptr},                                                        \
      {kBuiltins,                                                       \
       type ".difference",                                              \
       combine<SetOperation::Difference>,                               \
       1,                                                               \
       kAny,                                                            \
       nullptr},                                                        \
      {kBuiltins,                                                       \
       type ".symmetric_difference",                                    \
       combine<SetOperation::SymmetricDifference>,                      \
       2,                                                               \
       2,                                                               \
       nullptr},                                                        \
      {kBuiltins, type ".issubset", related<Py_LE>, 2, 2, nullptr},     \
      {kBuiltins, type ".issuperset", related<Py_GE>, 2, 2, nullptr}, { \
    kBuiltins, type ".isdisjoint", is_disjoint, 2, 2, nullptr           \
  }

constexpr Row kRows[] = {
    {kBuiltins, "set", make_set, 0, 1, nullptr},
    {kBuiltins, "frozenset", make_frozenset, 0, 1, nullptr},
    MG_COMMON("set"),
    MG_COMMON("frozenset"),
    MG_OPERATORS("set"),
    MG_OPERATORS("frozenset"),
    {kBuiltins, "set.__iand__", slot_update<SetOperation::Intersection>, 2, 2,
     nullptr},
    {kBuiltins, "set.__ior__", slot_update<SetOperation::Union>, 2, 2, nullptr},
    {kBuiltins, "set.__isub__", slot_update<SetOperation::Difference>, 2, 2,
     nullptr},
    {kBuiltins, "set.__ixor__", slot_update<SetOperation::SymmetricDifference>,
     2, 2, nullptr},
    {kBuiltins, "set.__init__", initialise, 1, kAny, "*"},
    {kBuiltins, "set.add", add, 2, 2, nullptr},
    {kBuiltins, "set.discard", discard, 2, 2, nullptr},
    {kBuiltins, "set.remove", remove, 2, 2, nullptr},
    {kBuiltins, "set.pop", pop, 1, 1, nullptr},
    {kBuiltins, "set.clear", clear, 1, 1, nullptr},
    {kBuiltins, "set.update", update<SetOperation::Union>, 1, kAny, nullptr},
    {kBuiltins, "set.intersection_update", keep_common, 1, kAny, nullptr},
    {kBuiltins, "set.difference_update", update<SetOperation::Difference>, 1,
     kAny, nullptr},
    {kBuiltins, "set.symmetric_difference_update",
     update<SetOperation::SymmetricDifference>, 2, 2, nullptr},
};

#undef MG_COMMON
#undef MG_OPERATORS
#undef MG_OPERATOR

}  // namespace

std::span<const Row> set_rows() { return kRows; }

}  // namespace magneto::natives
