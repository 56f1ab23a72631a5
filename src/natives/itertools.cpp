// SPDX-License-Identifier: BSD-3-Clause
// itertools: generators written in Python (magneto/polyfills/itertools.py),
// which pass for iterators of the classes that they stand for.
#include <string_view>

#include "natives/registry.h"
#include "natives/signature.h"
#include "values/exceptions.h"

namespace magneto::natives {

namespace {

PyObject* attribute_of(PyObject* owner, const char* name) {
  PyObject* found = PyObject_GetAttrString(owner, name);
  MG_CHECK(found, std::string("no itertools.") + name);
  return found;
}

PyObject* of_itertools(const char* name) {
  Ref module = Ref::steal(PyImport_ImportModule("itertools"));
  MG_CHECK(module, "the module itertools");
  return attribute_of(module, name);
}

// The generator that the polyfill made, as an iterator of the class `type`. Its
// slots say how a real one is made before it has begun: with which call.
Outcome<V> made_by(Context& ctx, const char* path, PyObject* type,
                   PyObject* callable, const Arguments& args,
                   size_t receivers) {
  MG_TRY(V made, call_polyfill(ctx, path, args));
  if (made->kind != Kind::Generator) return made;
  std::vector<V> call;
  if (!args.has_keywords()) {
    call.push_back(ctx.constant_share(callable));
    const auto given = args.positional.subspan(receivers);
    call.insert(call.end(), given.begin(), given.end());
  }
  return ctx.iterator(reinterpret_cast<PyTypeObject*>(type), call,
                      ctx.heap[made->heap].number, Kind::Generator);
}

// The class has the name of the polyfill.
template <Literal path>
Outcome<V> make(Context& ctx, const Arguments& args) {
  static PyObject* const type =
      of_itertools(path.text + std::string_view(path.text).rfind('.') + 1);
  return made_by(ctx, path.text, type, type, args, 0);
}

Outcome<V> make_chain_of(Context& ctx, const Arguments& args) {
  static PyObject* const type = of_itertools("chain");
  static PyObject* const callable = attribute_of(type, "from_iterable");
  return made_by(ctx, "itertools.chain_from_iterable", type, callable, args, 1);
}

// Those that take all items when they are made can't be made again.
template <Literal path>
Outcome<V> make_of_items(Context& ctx, const Arguments& args) {
  static PyObject* const type =
      of_itertools(path.text + std::string_view(path.text).rfind('.') + 1);
  MG_TRY(V made, call_polyfill(ctx, path.text, args));
  if (made->kind != Kind::Generator) return made;
  return ctx.iterator(reinterpret_cast<PyTypeObject*>(type), {},
                      ctx.heap[made->heap].number, Kind::Generator);
}

Outcome<V> next_of(Context& ctx, const Arguments& args) {
  MG_TRY(V item, next(ctx, args.positional[0]));
  if (item) return item;
  return ctx.raise_value(make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration), {}));
}

Outcome<V> itself(Context& ctx, const Arguments& args) {
  return ctx.look(args.positional[0]);
}

constexpr const char* kItertools = "itertools";

#define MG_ITERATOR(name, make)                                 \
  {kItertools, name, make<"itertools." name>, 0, kAny, "*"},    \
      {kItertools, name ".__next__", next_of, 1, 1, nullptr}, { \
    kItertools, name ".__iter__", itself, 1, 1, nullptr         \
  }

constexpr Row kRows[] = {
    MG_ITERATOR("accumulate", make),
    MG_ITERATOR("chain", make),
    {kItertools, "chain.from_iterable", make_chain_of, 0, kAny, "*"},
    MG_ITERATOR("combinations", make_of_items),
    MG_ITERATOR("combinations_with_replacement", make_of_items),
    MG_ITERATOR("compress", make),
    MG_ITERATOR("count", make),
    MG_ITERATOR("cycle", make),
    MG_ITERATOR("dropwhile", make),
    MG_ITERATOR("filterfalse", make),
    MG_ITERATOR("groupby", make),
    MG_ITERATOR("islice", make),
    MG_ITERATOR("pairwise", make),
    MG_ITERATOR("permutations", make_of_items),
    MG_ITERATOR("product", make_of_items),
    MG_ITERATOR("repeat", make),
    MG_ITERATOR("starmap", make),
    MG_ITERATOR("takewhile", make),
    row::polyfill(kItertools, "tee", "itertools.tee"),
    MG_ITERATOR("zip_longest", make),
};

#undef MG_ITERATOR

}  // namespace

std::span<const Row> itertools_rows() { return kRows; }

}  // namespace magneto::natives
