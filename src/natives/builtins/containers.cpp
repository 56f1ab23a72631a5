// SPDX-License-Identifier: BSD-3-Clause
// The slots that containers have in common (length, items, iteration,
// comparison), called as list.__getitem__(x, i), mostly through super().
#include "natives/signature.h"
#include "python/types.h"
#include "values/protocol/operands.h"

namespace magneto::natives {

namespace {

bool is_container(V value) {
  switch (value->kind) {
    case Kind::Constant:
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
      return true;
    default:
      return false;
  }
}

// A container that the trace knows as such: for anything else the protocol
// would come back here.
Outcome<V> receiver(Context& ctx, const Arguments& args) {
  V container = ctx.look(args.positional[0]);
  if (is_container(container)) return container;
  return ctx.graph_break("native-call",
                         std::string("a method of a ") +
                             python::short_name(container->type) +
                             " of the caller's",
                         "use it outside of the compiled function");
}

Outcome<V> slot_length(Context& ctx, const Arguments& args) {
  MG_TRY(V container, receiver(ctx, args));
  return plain_length(ctx, container);
}

Outcome<V> slot_iterate(Context& ctx, const Arguments& args) {
  MG_TRY(V container, receiver(ctx, args));
  return plain_iterate(ctx, container);
}

// A deque has no slot for keys of all kinds: its methods take numbers only.
Outcome<V> key_of(Context& ctx, V container, const Arguments& args) {
  if (!values::is_deque(container)) return args.positional[1];
  MG_TRY(const Py_ssize_t at, slot_index(ctx, args.positional[1]));
  return ctx.integer(at);
}

Outcome<V> slot_get(Context& ctx, const Arguments& args) {
  MG_TRY(V container, receiver(ctx, args));
  MG_TRY(V key, key_of(ctx, container, args));
  return plain_get_item(ctx, container, key);
}

Outcome<V> slot_set(Context& ctx, const Arguments& args) {
  MG_TRY(V container, receiver(ctx, args));
  MG_TRY(V key, key_of(ctx, container, args));
  MG_DO(plain_set_item(ctx, container, key, args.positional[2]));
  return ctx.none();
}

Outcome<V> slot_delete(Context& ctx, const Arguments& args) {
  MG_TRY(V container, receiver(ctx, args));
  MG_TRY(V key, key_of(ctx, container, args));
  MG_DO(plain_delete_item(ctx, container, key));
  return ctx.none();
}

Outcome<V> slot_contains(Context& ctx, const Arguments& args) {
  MG_TRY(V container, receiver(ctx, args));
  MG_TRY(bool found, plain_contains(ctx, container, args.positional[1]));
  return ctx.boolean(found);
}

// Whether both have the layout that the left one's comparison knows.
bool comparable(V left, V right) {
  for (PyTypeObject* type : {&PyList_Type, &PyTuple_Type, &PyDict_Type})
    if (is_instance_of(left, type)) return is_instance_of(right, type);
  if (values::is_deque(left)) return values::is_deque(right);
  return (is_instance_of(left, &PySet_Type) ||
          is_instance_of(left, &PyFrozenSet_Type)) &&
         (is_instance_of(right, &PySet_Type) ||
          is_instance_of(right, &PyFrozenSet_Type));
}

template <int kind>
Outcome<V> slot_compare(Context& ctx, const Arguments& args) {
  MG_TRY(V left, receiver(ctx, args));
  V right = ctx.look(args.positional[1]);
  if (!comparable(left, right) || !is_container(right))
    return ctx.constant_share(Py_NotImplemented);
  return plain_compare(ctx, kind, left, right);
}

constexpr const char* kBuiltins = "builtins";
constexpr const char* kCollections = "collections";

#define MG_READS(module, type)                                        \
  {module, type ".__len__", slot_length, 1, 1, nullptr},              \
      {module, type ".__iter__", slot_iterate, 1, 1, nullptr},        \
      {module, type ".__contains__", slot_contains, 2, 2, nullptr},   \
      {module, type ".__eq__", slot_compare<Py_EQ>, 2, 2, nullptr}, { \
    module, type ".__ne__", slot_compare<Py_NE>, 2, 2, nullptr        \
  }

#define MG_ORDER(module, type)                                        \
  {module, type ".__lt__", slot_compare<Py_LT>, 2, 2, nullptr},       \
      {module, type ".__le__", slot_compare<Py_LE>, 2, 2, nullptr},   \
      {module, type ".__gt__", slot_compare<Py_GT>, 2, 2, nullptr}, { \
    module, type ".__ge__", slot_compare<Py_GE>, 2, 2, nullptr        \
  }

#define MG_WRITES(module, type)                                 \
  {module, type ".__getitem__", slot_get, 2, 2, nullptr},       \
      {module, type ".__setitem__", slot_set, 3, 3, nullptr}, { \
    module, type ".__delitem__", slot_delete, 2, 2, nullptr     \
  }

constexpr Row kRows[] = {
    MG_READS(kBuiltins, "list"),
    MG_ORDER(kBuiltins, "list"),
    MG_WRITES(kBuiltins, "list"),
    MG_READS(kBuiltins, "tuple"),
    MG_ORDER(kBuiltins, "tuple"),
    {kBuiltins, "tuple.__getitem__", slot_get, 2, 2, nullptr},
    {kBuiltins, "str.__iter__", slot_iterate, 1, 1, nullptr},
    {kBuiltins, "bytes.__iter__", slot_iterate, 1, 1, nullptr},
    {kBuiltins, "range.__iter__", slot_iterate, 1, 1, nullptr},
    MG_READS(kBuiltins, "dict"),
    MG_WRITES(kBuiltins, "dict"),
    MG_READS(kBuiltins, "set"),
    MG_ORDER(kBuiltins, "set"),
    MG_READS(kBuiltins, "frozenset"),
    MG_ORDER(kBuiltins, "frozenset"),
    MG_READS(kCollections, "OrderedDict"),
    MG_WRITES(kCollections, "OrderedDict"),
    MG_READS(kCollections, "deque"),
    MG_ORDER(kCollections, "deque"),
    MG_WRITES(kCollections, "deque"),
};

#undef MG_READS
#undef MG_ORDER
#undef MG_WRITES

}  // namespace

std::span<const Row> container_rows() { return kRows; }

}  // namespace magneto::natives
