// SPDX-License-Identifier: BSD-3-Clause
// functools: partial objects, reduce, and wrappers written in C.
#include <algorithm>

#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/layout.h"
#include "python/names.h"
#include "values/construction.h"
#include "values/symbolic.h"

namespace magneto::natives {

namespace {

using guards::SourceId;
using guards::SourceKind;
using python::PrivateField;

PyTypeObject* partial_type() {
  static PyObject* const type = [] {
    Ref module = import_module("functools");
    MG_CHECK(module, "the module functools");
    return PyObject_GetAttrString(module, "partial");
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

// Heap slots of a partial that the trace made.
enum Part : size_t { kFunction, kArguments, kKeywords };

V part_of(Context& ctx, V partial, Part part) {
  if (!partial->object) return ctx.heap[partial->heap].slots[part];
  static constexpr std::pair<PrivateField, SourceKind> kFields[] = {
      {PrivateField::PartialFunction, SourceKind::PartialFunction},
      {PrivateField::PartialArgs, SourceKind::PartialArgs},
      {PrivateField::PartialKeywords, SourceKind::PartialKeywords}};
  PyObject** field =
      python::private_field(partial->object, kFields[part].first);
  MG_CHECK(field && *field, "a partial of functools'");
  return ctx.lazy(*field,
                  ctx.sources.field(partial->source, kFields[part].second));
}

V keywords_as_dict(Context& ctx, const Arguments& args) {
  V made = ctx.dict();
  for (size_t i = 0; i < args.keyword_names.size(); ++i)
    ctx.heap.dict_initial(made->heap, ctx.constant_share(args.keyword_names[i]),
                          args.keyword_values[i],
                          Ref::share(args.keyword_names[i]));
  return made;
}

V make(Context& ctx, PyTypeObject* type, V function, std::span<const V> args,
       V keywords) {
  V slots[] = {function, ctx.tuple(args), keywords};
  return ctx.iterator(type, slots, 0, Kind::Object);
}

Outcome<V> make_partial(Context& ctx, const Arguments& args) {
  V function = ctx.look(args.positional[0]);
  if (function->is_constant() && !PyCallable_Check(function->object))
    return ctx.raise(PyExc_TypeError, "the first argument must be callable");
  std::vector<V> positional;
  V keywords = ctx.dict();
  // A partial of a partial is one partial.
  if (function->type == partial_type()) {
    MG_DO(unpack(ctx, part_of(ctx, function, kArguments), positional));
    V inner = ctx.look(part_of(ctx, function, kKeywords));
    for (const DictEntry* entry : dict_entries(ctx, inner))
      MG_DO(dict_set(ctx, keywords, entry->key, entry->value));
    function = part_of(ctx, function, kFunction);
  }
  auto more = args.positional.subspan(1);
  positional.insert(positional.end(), more.begin(), more.end());
  for (size_t i = 0; i < args.keyword_names.size(); ++i)
    MG_DO(dict_set(ctx, keywords, ctx.constant_share(args.keyword_names[i]),
                   args.keyword_values[i]));
  return make(ctx, partial_type(), function, positional, keywords);
}

// partial.__new__(cls, ...), for subclasses
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (args.count() < 2 || !type->is_constant() || !PyType_Check(type->object))
    return ctx.raise(PyExc_TypeError,
                     "type 'partial' takes at least one argument");
  return make(ctx, reinterpret_cast<PyTypeObject*>(type->object),
              args.positional[1], args.positional.subspan(2),
              keywords_as_dict(ctx, args));
}

Outcome<V> call_partial(Context& ctx, const Arguments& args) {
  V partial = ctx.look(args.positional[0]);
  std::vector<V> positional;
  MG_DO(unpack(ctx, part_of(ctx, partial, kArguments), positional));
  auto more = args.positional.subspan(1);
  positional.insert(positional.end(), more.begin(), more.end());

  std::vector<PyObject*> names;
  std::vector<V> values;
  V fixed = ctx.look(part_of(ctx, partial, kKeywords));
  for (const DictEntry* entry : dict_entries(ctx, fixed)) {
    MG_TRY(PyObject * key,
           attribute_name(ctx, entry->key, "keywords must be strings"));
    V given = args.keyword(key);
    names.push_back(key);
    values.push_back(given ? given : entry->value);
  }
  for (size_t i = 0; i < args.keyword_names.size(); ++i) {
    if (std::find(names.begin(), names.end(), args.keyword_names[i]) !=
        names.end())
      continue;
    names.push_back(args.keyword_names[i]);
    values.push_back(args.keyword_values[i]);
  }
  return call(ctx, part_of(ctx, partial, kFunction),
              Arguments{.positional = positional,
                        .keyword_values = values,
                        .keyword_names = names});
}

template <Part part>
Outcome<V> read(Context& ctx, const Arguments& args) {
  return part_of(ctx, ctx.look(args.positional[0]), part);
}

Outcome<V> reduce(Context& ctx, const Arguments& args) {
  V function = args.positional[0];
  Outcome<V> begun = iterate(ctx, args.positional[1]);
  if (!begun) {
    if (begun.signal() != Signal::Raised || !ctx.exception_is(PyExc_TypeError))
      return begun;
    (void)ctx.take_exception();
    return ctx.raise(PyExc_TypeError, "reduce() arg 2 must support iteration");
  }
  V iterator = begun.value();
  V total = argument(args, 2);
  if (!total) {
    MG_TRY(total, next(ctx, iterator));
    if (!total)
      return ctx.raise(PyExc_TypeError,
                       "reduce() of empty iterable with no initial value");
  }
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) return total;
    MG_TRY(total, call(ctx, function, {total, item}));
  }
}

// Whether the trace has written to anything of the caller's.
bool has_pending_writes(Context& ctx) {
  return std::ranges::any_of(ctx.heap.modified(), [&](HeapId id) {
    const HeapObject& state = ctx.heap[id];
    const V owner = state.attributes_of.valid()
                        ? ctx.heap[state.attributes_of].owner
                        : state.owner;
    return owner && owner->source.valid();
  });
}

// The object that a call for real gets: plain data, or the caller's own, which
// is then guarded to be that one. Null for anything else.
PyObject* own_object(Context& ctx, V value) {
  if (holds_symbol(ctx, value)) return nullptr;
  value = ctx.look(value);
  if (!value->source.valid() || !value->object || value->is_constant())
    return as_constant(ctx, value);
  ctx.guards.identity(value->source, value->object);
  return value->object;
}

// The key under which the cache has the result of a call, as lru_cache makes
// it; the arguments have objects of their own.
Ref key_of(Context& ctx, PyObject* cached, const Arguments& args) {
  const python::CacheKeys how = python::cache_keys(cached);
  std::vector<PyObject*> parts, types;
  const auto add = [&](V value) {
    parts.push_back(own_object(ctx, value));
    MG_CHECK(parts.back(), "an argument of a call that was made");
    types.push_back(reinterpret_cast<PyObject*>(Py_TYPE(parts.back())));
  };
  for (V value : args.positional) add(value);
  if (args.has_keywords()) parts.push_back(how.mark);
  for (size_t i = 0; i < args.keyword_names.size(); ++i) {
    parts.push_back(args.keyword_names[i]);
    add(args.keyword_values[i]);
  }
  if (how.is_typed) parts.insert(parts.end(), types.begin(), types.end());
  if (parts.size() == 1 &&
      (PyLong_CheckExact(parts[0]) || PyUnicode_CheckExact(parts[0])))
    return Ref::share(parts[0]);
  Ref key = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  MG_CHECK(key, "out of memory");
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SET_ITEM(key.get(), static_cast<Py_ssize_t>(i),
                     Ref::share(parts[i]).release());
  return key;
}

// Where the cache has `object`, the result of that call; invalid if that can't
// be told.
SourceId cached_source(Context& ctx, V cached, const Arguments& args,
                       PyObject* object) {
  PyObject** results =
      python::private_field(cached->object, PrivateField::CachedResults);
  if (!results || !*results || !PyDict_CheckExact(*results)) return {};
  const SourceId dict =
      ctx.sources.field(cached->source, SourceKind::CachedResults);
  const Ref wanted = key_of(ctx, cached->object, args);
  PyObject *key = nullptr, *item = nullptr;
  Py_ssize_t position = 0;
  Py_hash_t hash = 0;
  while (_PyDict_Next(*results, &position, &key, &item, &hash)) {
    PyObject** result = python::private_field(item, PrivateField::CachedResult);
    if ((result ? *result : item) != object) continue;
    const int same = PyObject_RichCompareBool(key, wanted, Py_EQ);
    if (same < 0) PyErr_Clear();
    if (same != 1) continue;
    // The key itself: a look-up that finds it compares nothing.
    const SourceId found = ctx.sources.dict_item(dict, key, hash);
    return result ? ctx.sources.field(found, SourceKind::CachedResult) : found;
  }
  return {};
}

// A function behind lru_cache: what it computes is traced; the cache belongs
// to the real program. So the function must give the same every time it is
// called, and do nothing else: only then nobody can tell. The object that it
// makes is the one that the cache has, for which the function is called;
// where that can't be done, one for each call is as good unless it is touched.
Outcome<V> call_cached(Context& ctx, const Arguments& args) {
  for (auto part : {args.positional, args.keyword_values}) {
    for (V value : part) {
      value = ctx.look_symbolic(value);
      if (value->type->tp_hash == PyObject_HashNotImplemented)
        return ctx.raise(PyExc_TypeError, std::string("unhashable type: '") +
                                              value->type->tp_name + "'");
    }
  }
  V cached = ctx.look(args.positional[0]);
  MG_TRY(V wrapped, get_attribute(ctx, cached, name<"__wrapped__">()));
  // Writes are counted from the outermost call on.
  static thread_local int32_t depth = 0;
  if (depth == 0) ctx.heap.count_writes();
  const size_t writes = ctx.heap.counted_writes();
  const size_t nodes = ctx.graph.call_count();
  const size_t objects = ctx.heap.size();
  const Journal::Position before = ctx.journal.position();
  struct Deeper {
    Deeper() { ++depth; }
    ~Deeper() { --depth; }
  };
  Outcome<V> result = [&] {
    Deeper deeper;
    return call(ctx, wrapped, without(args, 1));
  }();
  if (!result) return result;
  V value = ctx.look_symbolic(result.value());
  const bool is_pure =
      ctx.heap.counted_writes() == writes && ctx.graph.call_count() == nodes;
  const bool is_plain = value->is_constant() || is_symbol(value);
  if (is_pure && cached->source.valid() && !has_pending_writes(ctx)) {
    Ref made;
    MG_TRY(bool called, call_really(ctx, cached->object, without(args, 1), made,
                                    own_object));
    const SourceId source =
        called ? cached_source(ctx, cached, without(args, 1), made)
               : SourceId{};
    if (source.valid()) {
      ctx.journal.rollback(before);
      // Guarded again.
      for (auto part : {without(args, 1).positional, args.keyword_values})
        for (V argument : part) (void)own_object(ctx, argument);
      PyObject* kept = ctx.keep(std::move(made));
      if (is_plain) return ctx.look(ctx.lazy(kept, source));
      ctx.guards.identity(source, kept);
      return ctx.known(kept, source);
    }
  }
  if (is_pure && is_plain) return value;
  if (is_pure && ctx.shares_cached) {
    ctx.heap.share_since(objects);
    return value;
  }
  return ctx.graph_break(
      "native-call",
      "a function behind lru_cache that makes or changes objects",
      "let it return numbers, strings and the like, or call it outside of the "
      "compiled function");
}

Outcome<V> bind_cached(Context& ctx, const Arguments& args) {
  V object = ctx.look(args.positional[1]);
  V function = ctx.look(args.positional[0]);
  if (object->is_constant() && object->object == Py_None) return function;
  return ctx.method(function, object);
}

PyObject* weak_dict() {
  static PyObject* const type = [] {
    Ref module = import_module("weakref");
    MG_CHECK(module, "the module weakref");
    return PyObject_GetAttrString(module, "WeakKeyDictionary");
  }();
  return type;
}

// What the closure of a function holds under that name; null if nothing.
V closed_over(Context& ctx, V function, const char* variable) {
  auto* real = reinterpret_cast<PyFunctionObject*>(function->object);
  Ref names = Ref::steal(
      PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(real->func_code)));
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names.get()); ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i),
                                         variable) != 0)
      continue;
    PyObject* cell = PyTuple_GET_ITEM(real->func_closure, i);
    if (!PyCell_GET(cell)) return nullptr;
    // The closure of a function that is known can't be another one.
    return ctx.known(PyCell_GET(cell),
                     ctx.sources.cell_contents(ctx.sources.constant(cell)));
  }
  return nullptr;
}

// The class among the keys of `registry` whose function is for `type`: what
// functools._find_impl says, asked with the classes in the place of functions.
Outcome<PyObject*> registered_class(Context& ctx,
                                    std::span<const DictEntry* const> registry,
                                    PyObject* type) {
  Ref classes = Ref::steal(PyDict_New());
  if (!classes) return ctx.raise_from_python();
  bool is_abstract = false;
  for (const DictEntry* entry : registry) {
    PyObject* key = ctx.look(entry->key)->object;
    if (key == type) return key;
    is_abstract |= Py_TYPE(key) != &PyType_Type;
    if (PyDict_SetItem(classes, key, key) < 0) return ctx.raise_from_python();
  }
  // What counts as a subclass changes with what is registered with it.
  if (is_abstract) ctx.guards.ambient(guards::Ambient::AbstractClasses);
  Ref functools = import_module("functools");
  Ref search = Ref::steal(
      functools ? PyObject_GetAttrString(functools, "_find_impl") : nullptr);
  Ref found = Ref::steal(search ? PyObject_CallFunctionObjArgs(
                                      search, type, classes.get(), nullptr)
                                : nullptr);
  if (!found) return ctx.raise_from_python();
  return ctx.keep(std::move(found));
}

// The function that functools.singledispatch makes: it calls what is
// registered for the class of its first argument.
Outcome<V> call_dispatched(Context& ctx, const Arguments& args) {
  V wrapper = ctx.look(args.positional[0]);
  V dispatch = closed_over(ctx, wrapper, "dispatch");
  dispatch = dispatch ? ctx.look(dispatch) : nullptr;
  V registry = nullptr, cache = nullptr;
  if (dispatch && dispatch->object && PyFunction_Check(dispatch->object)) {
    registry = closed_over(ctx, dispatch, "registry");
    cache = closed_over(ctx, dispatch, "dispatch_cache");
  }
  // Somebody else's cache may tell when it is asked.
  const bool is_plain =
      args.count() >= 2 && registry && cache &&
      reinterpret_cast<PyObject*>(ctx.look(cache)->type) == weak_dict();
  if (!is_plain) return ctx.inliner->inline_function(wrapper, without(args, 1));
  V value = ctx.look(args.positional[1]);
  const std::vector<const DictEntry*> entries =
      dict_entries(ctx, ctx.look(registry));
  MG_TRY(
      PyObject * key,
      registered_class(ctx, entries, reinterpret_cast<PyObject*>(value->type)));
  for (const DictEntry* entry : entries)
    if (ctx.look(entry->key)->object == key)
      return call(ctx, ctx.look(entry->value), without(args, 1));
  return ctx.inliner->inline_function(wrapper, without(args, 1));
}

constexpr const char* kFunctools = "functools";

constexpr Row kRows[] = {
    {kFunctools, "partial", make_partial, 1, kAny, "*"},
    {kFunctools, "partial.__new__", make_of_class, 1, kAny, "*"},
    {kFunctools, "partial.__call__", call_partial, 1, kAny, "*"},
    {kFunctools, "partial.func", read<kFunction>, 1, 1, nullptr},
    {kFunctools, "partial.args", read<kArguments>, 1, 1, nullptr},
    {kFunctools, "partial.keywords", read<kKeywords>, 1, 1, nullptr},
    {kFunctools, "reduce", reduce, 2, 3, nullptr},
    {kFunctools, "singledispatch.<locals>.wrapper", call_dispatched, 1, kAny,
     "*"},
    {kFunctools, "_lru_cache_wrapper.__call__", call_cached, 1, kAny, "*"},
    {kFunctools, "_lru_cache_wrapper.__get__", bind_cached, 2, 3, nullptr},
    row::polyfill(kFunctools, "cached_property.__get__",
                  "functools.cached_property_get"),
    row::polyfill(kFunctools, "cmp_to_key", "functools.cmp_to_key"),
};

}  // namespace

std::span<const Row> functools_rows() { return kRows; }

}  // namespace magneto::natives
