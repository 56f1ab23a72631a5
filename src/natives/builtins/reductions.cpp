// SPDX-License-Identifier: BSD-3-Clause
// Builtins that use up an iterable: sum, min, max, any, all, sorted.
#include "natives/builtins/ordering.h"
#include "natives/signature.h"
#include "python/names.h"
#include "values/torch/tensor_choice.h"

namespace magneto::natives {

namespace {

constexpr int kAdd = 0;  // NB_ADD

// What sum() doesn't begin with.
constexpr std::pair<PyTypeObject*, const char*> kNoSums[] = {
    {&PyUnicode_Type, "strings [use ''.join(seq) instead]"},
    {&PyBytes_Type, "bytes [use b''.join(seq) instead]"},
    {&PyByteArray_Type, "bytearray [use b''.join(seq) instead]"},
};

Outcome<V> sum(Context& ctx, const Arguments& args) {
  V total = argument(args, 1, name<"start">());
  MG_TRY(V iterator, iterate(ctx, args.positional[0]));
  if (!total) {
    total = ctx.integer(0);
  } else {
    total = ctx.look(total);
    for (const auto& [type, words] : kNoSums)
      if (is_instance_of(total, type))
        return ctx.raise(PyExc_TypeError,
                         std::string("sum() can't sum ") + words);
  }
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return total;
    MG_TRY(total, binary_operation(ctx, kAdd, total, item));
  }
}

Outcome<V> any_or_all(Context& ctx, V iterable, bool wanted) {
  MG_TRY(V iterator, iterate(ctx, iterable));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return ctx.boolean(!wanted);
    MG_TRY(bool holds, truth(ctx, item));
    if (holds == wanted) return ctx.boolean(wanted);
  }
}

Outcome<V> any(Context& ctx, const Arguments& args) {
  return any_or_all(ctx, args.positional[0], true);
}
Outcome<V> all(Context& ctx, const Arguments& args) {
  return any_or_all(ctx, args.positional[0], false);
}

V key_function(Context& ctx, const Arguments& args) {
  V key = args.keyword(interned().key);
  return key ? callable_argument(ctx, key) : nullptr;
}

// min() and max(): `kind` is what a better item's key is to the best so far.
template <int kind>
Outcome<V> extreme(Context& ctx, const Arguments& args) {
  const char* function = kind == Py_LT ? "min" : "max";
  V fallback = args.keyword(interned().default_);
  if (fallback && args.count() > 1)
    return ctx.raise(PyExc_TypeError,
                     std::string("Cannot specify a default for ") + function +
                         "() with multiple positional arguments");
  V key = key_function(ctx, args);
  V best = nullptr, best_key = nullptr;
  const auto look_at = [&](V item) -> Status {
    V item_key = item;
    if (key) {
      MG_TRY(item_key, call(ctx, key, {item}));
    }
    if (best && !key) {
      MG_TRY(V chosen, values::choose_tensor(ctx, kind, best, item));
      if (chosen) {
        best = best_key = chosen;
        return done;
      }
    }
    if (best) {
      MG_TRY(V result, compare(ctx, kind, item_key, best_key));
      MG_TRY(bool better, truth(ctx, result));
      if (!better) return done;
    }
    best = item;
    best_key = item_key;
    return done;
  };
  if (args.count() > 1) {
    for (V item : args.positional) MG_DO(look_at(item));
    return best;
  }
  MG_TRY(V iterator, iterate(ctx, args.positional[0]));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) break;
    MG_DO(look_at(item));
  }
  if (best) return best;
  if (fallback) return fallback;
  return ctx.raise(PyExc_ValueError,
                   std::string(function) + "() arg is an empty sequence");
}

Outcome<V> sorted(Context& ctx, const Arguments& args) {
  std::vector<V> items;
  MG_DO(unpack_to_list(ctx, args.positional[0], items));
  MG_DO(sort(ctx, items, args));
  return ctx.list(items);
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "sum", sum, 1, 2, "/ start"},
    {kBuiltins, "any", any, 1, 1, nullptr},
    {kBuiltins, "all", all, 1, 1, nullptr},
    {kBuiltins, "min", extreme<Py_LT>, 1, kAny, "/ key default"},
    {kBuiltins, "max", extreme<Py_GT>, 1, kAny, "/ key default"},
    {kBuiltins, "sorted", sorted, 1, 1, "/ key reverse"},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace magneto::natives
