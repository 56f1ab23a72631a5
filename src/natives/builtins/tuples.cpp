// SPDX-License-Identifier: BSD-3-Clause
// tuple and slice: making them, and tuple's methods on tuples that hold more
// than constants.
#include "natives/builtins/lists.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "values/protocol/operands.h"

namespace magneto::natives {

namespace {

Outcome<V> make_tuple(Context& ctx, const Arguments& args) {
  if (!args.count()) return ctx.tuple({});
  V iterable = ctx.look(args.positional[0]);
  // A tuple is its own copy.
  if (iterable->type == &PyTuple_Type) return iterable;
  std::vector<V> items;
  MG_DO(unpack_to_list(ctx, iterable, items));
  return ctx.tuple(items);
}

// tuple.__new__(cls, iterable)
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (!type->is_constant() || !PyType_Check(type->object) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type->object),
                        &PyTuple_Type))
    return ctx.raise(PyExc_TypeError,
                     "tuple.__new__(X): X is not a subtype of tuple");
  // A class with an __init__ of its own may take others.
  const bool has_init =
      reinterpret_cast<PyTypeObject*>(type->object)->tp_init !=
      PyTuple_Type.tp_init;
  MG_DO(check_iterable_argument(ctx, args, "tuple", has_init));
  std::vector<V> items;
  if (args.count() > 1) MG_DO(unpack_to_list(ctx, args.positional[1], items));
  return ctx.tuple(items, reinterpret_cast<PyTypeObject*>(type->object));
}

Outcome<V> index(Context& ctx, const Arguments& args) {
  // Whatever __iter__ a derived class has.
  const std::vector<V> items =
      values::items_of(ctx, ctx.look(args.positional[0]));
  Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX;
  if (args.count() > 2) {
    MG_TRY(start, bound_argument(ctx, args.positional[2]));
  }
  if (args.count() > 3) {
    MG_TRY(stop, bound_argument(ctx, args.positional[3]));
  }
  MG_TRY(Py_ssize_t at, find_item(ctx, items, args.positional[1], start, stop));
  if (at < 0)
    return ctx.raise(PyExc_ValueError, "tuple.index(x): x not in tuple");
  return ctx.integer(at);
}

Outcome<V> count(Context& ctx, const Arguments& args) {
  const std::vector<V> items =
      values::items_of(ctx, ctx.look(args.positional[0]));
  int64_t found = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    MG_TRY(Py_ssize_t at,
           find_item(ctx, {&items[i], 1}, args.positional[1], 0, 1));
    found += at == 0;
  }
  return ctx.integer(found);
}

Outcome<V> make_slice(Context& ctx, const Arguments& args) {
  auto given = args.positional;
  if (given.size() == 1) return ctx.slice(ctx.none(), given[0], ctx.none());
  return ctx.slice(given[0], given[1],
                   given.size() > 2 ? given[2] : ctx.none());
}

Outcome<V> slice_indices(Context& ctx, const Arguments& args) {
  V receiver = ctx.look(args.positional[0]);
  PyObject* real = safe_object(ctx, receiver);
  PyObject* size = safe_object(ctx, args.positional[1]);
  if (!real || !size)
    return ctx.graph_break("native-call", "slice.indices of unknown values",
                           "use Python integers");
  Ref result = Ref::steal(PyObject_CallMethod(real, "indices", "(O)", size));
  if (!result) return ctx.raise_from_python();
  return ctx.constant(std::move(result));
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "tuple", make_tuple, 0, 1, nullptr},
    {kBuiltins, "tuple.__new__", make_of_class, 1, kAny, "*"},
    {kBuiltins, "tuple.index", index, 2, 4, nullptr},
    {kBuiltins, "tuple.count", count, 2, 2, nullptr},
    {kBuiltins, "slice", make_slice, 1, 3, nullptr},
    {kBuiltins, "slice.indices", slice_indices, 2, 2, nullptr},
};

}  // namespace

std::span<const Row> tuple_rows() { return kRows; }

}  // namespace magneto::natives
