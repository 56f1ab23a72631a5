// SPDX-License-Identifier: BSD-3-Clause
// itertools, and iter(function, sentinel): written in Python
// (magneto/polyfills) as states, around each of which stands an iterator of the
// original's class. What a real one is made of is said in
// values/types/iterators.h.
#include "natives/builtins/iterators.h"
#include "natives/registry.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/types.h"
#include "values/types/exceptions.h"
#include "values/types/iterators.h"

namespace magneto::natives {

namespace {

constexpr const char* kItertools = "itertools";

// made(state)
Outcome<V> make(Context& ctx, const Arguments& args) {
  V state = ctx.look(args.positional[0]);
  static PyObject* const stands_for = PyUnicode_InternFromString("stands_for");
  PyObject* type = python::mro_lookup(state->type, stands_for);
  MG_CHECK(type && PyType_Check(type), "a state says what it stands for");
  return ctx.iterator(reinterpret_cast<PyTypeObject*>(type), {&state, 1});
}

Outcome<V> state_of(Context& ctx, const Arguments& args) {
  V iterator = ctx.look(args.positional[0]);
  if (V state = iterator_state(ctx, iterator)) return state;
  return ctx.graph_break("caller-iterator",
                         std::string("a ") +
                             python::short_name(iterator->type) +
                             " that was made outside of the trace",
                         "make it inside of the compiled function");
}

Outcome<V> next_of_state(Context& ctx, V iterator) {
  V state = iterator_state(ctx, iterator);
  MG_CHECK(state, "such an iterator has a state");
  static PyObject* const step = PyUnicode_InternFromString("step");
  PyObject* function = python::mro_lookup(state->type, step);
  MG_CHECK(function, "a state has steps");
  MG_TRY(V item, call(ctx, ctx.known(function), {state}));
  if (item->object != end_of_iterators()) return item;
  ctx.end_value = nullptr;  // that of something else, if there is one
  return nullptr;
}

// chain.from_iterable(iterables), of which derived classes make their own.
Outcome<V> from_iterable(Context& ctx, const Arguments& args) {
  static PyObject* const chain = [] {
    const Ref module = import_module(kItertools);
    return PyObject_GetAttrString(module, "chain");
  }();
  if (V type = ctx.look(args.positional[0]); type->object != chain)
    return ctx.graph_break("instantiate", "a chain of a class of its own",
                           "make it outside of the compiled function");
  return call_polyfill(ctx, "itertools.chain_from_iterable", without(args, 1));
}

constexpr const char* kTypes = "<types>";
constexpr const char* kIterators = "magneto.polyfills.iterators";

#define MG_METHODS(module, name)                        \
  row::next(module, name ".__next__", next_of_state), { \
    module, name ".__iter__", itself, 1, 1, nullptr     \
  }
#define MG_ITERATOR(name, polyfill_module)                   \
  row::polyfill(kItertools, name, polyfill_module "." name), \
      MG_METHODS(kItertools, name)

constexpr Row kRows[] = {
    {kIterators, "made", make, 1, 1, nullptr},
    {kIterators, "state_of", state_of, 1, 1, nullptr},
    MG_ITERATOR("accumulate", "itertools"),
    MG_ITERATOR("chain", "itertools"),
    {kItertools, "chain.from_iterable", from_iterable, 1},
    MG_ITERATOR("combinations", "combinatorics"),
    MG_ITERATOR("combinations_with_replacement", "combinatorics"),
    MG_ITERATOR("compress", "itertools"),
    MG_ITERATOR("count", "itertools"),
    MG_ITERATOR("cycle", "itertools"),
    MG_ITERATOR("dropwhile", "itertools"),
    MG_ITERATOR("filterfalse", "itertools"),
    MG_ITERATOR("groupby", "shared_iterators"),
    MG_METHODS(kItertools, "_grouper"),
    MG_ITERATOR("islice", "itertools"),
    MG_ITERATOR("pairwise", "itertools"),
    MG_ITERATOR("permutations", "combinatorics"),
    MG_ITERATOR("product", "combinatorics"),
    MG_ITERATOR("repeat", "itertools"),
    MG_ITERATOR("starmap", "itertools"),
    MG_ITERATOR("takewhile", "itertools"),
    row::polyfill(kItertools, "tee", "shared_iterators.tee"),
    MG_METHODS(kItertools, "_tee"),
    MG_ITERATOR("zip_longest", "itertools"),
    MG_METHODS(kTypes, "callable_iterator"),
};

#undef MG_ITERATOR
#undef MG_METHODS

}  // namespace

std::span<const Row> itertools_rows() { return kRows; }

}  // namespace magneto::natives
