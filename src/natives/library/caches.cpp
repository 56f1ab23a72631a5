// SPDX-License-Identifier: BSD-3-Clause
// Functions behind functools.lru_cache.
#include <algorithm>

#include "guards/constant.h"
#include "natives/builtins/descriptor_get.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/hashed_dict.h"
#include "python/layout.h"
#include "python/names.h"
#include "python/sequences.h"
#include "values/model/speculation.h"
#include "values/protocol/hashing.h"
#include "values/protocol/symbolic.h"

namespace magneto::natives {

namespace {

using guards::SourceId;
using guards::SourceKind;
using python::PrivateField;
using values::kBeforeWrites;
using Known = values::CachedCalls::Known;

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

// The same without a guard, and nothing where the hash or the comparison of the
// object is code of the program's.
PyObject* plain_object(Context& ctx, V value) {
  if (holds_symbol(ctx, value)) return nullptr;
  value = ctx.look(value);
  if (PyObject* constant = as_constant(ctx, value)) return constant;
  values::rely_on_hash(ctx, value->type);
  return value->source.valid() && guards::has_identity_hash(value->type)
             ? value->object
             : nullptr;
}

// The key under which the cache has the result of a call, as lru_cache makes
// it; null if an argument has no object.
Ref key_of(Context& ctx, PyObject* cached, const Arguments& args,
           PyObject* (*object_of)(Context&, V)) {
  const python::CacheKeys how = python::cache_keys(cached);
  std::vector<PyObject*> parts, types;
  const auto add = [&](V value) {
    PyObject* object = object_of(ctx, value);
    if (!object) return false;
    parts.push_back(object);
    types.push_back(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    return true;
  };
  for (V value : args.positional)
    if (!add(value)) return {};
  if (args.has_keywords()) parts.push_back(how.mark);
  for (size_t i = 0; i < args.keyword_names.size(); ++i) {
    parts.push_back(args.keyword_names[i]);
    if (!add(args.keyword_values[i])) return {};
  }
  if (how.is_typed) parts.insert(parts.end(), types.begin(), types.end());
  if (parts.size() == 1 &&
      (PyLong_CheckExact(parts[0]) || PyUnicode_CheckExact(parts[0])))
    return Ref::share(parts[0]);
  Ref key = python::tuple_of(parts);
  MG_CHECK(key, "out of memory");
  return key;
}

// A result, and where the cache has it: nowhere if the source is invalid.
struct Found {
  PyObject* object = nullptr;
  SourceId source;
};

// What the cache has under `wanted`.
Found find_cached(Context& ctx, V cached, PyObject* wanted) {
  PyObject** results =
      python::private_field(cached->object, PrivateField::CachedResults);
  if (!results || !*results || !PyDict_CheckExact(*results)) return {};
  const Py_hash_t hash = PyObject_Hash(wanted);
  PyObject* item =
      hash == -1 ? nullptr : python::item_with_hash(*results, wanted, hash);
  if (!item) {
    PyErr_Clear();
    return {};
  }
  const SourceId dict =
      ctx.sources.field(cached->source, SourceKind::CachedResults);
  // The key itself: a look-up that finds it compares nothing.
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  Py_hash_t each = 0;
  while (python::next_with_hash(*results, &position, &key, &value, &each)) {
    if (value != item || each != hash) continue;
    const int same = PyObject_RichCompareBool(key, wanted, Py_EQ);
    if (same == 1) break;
    if (same < 0) PyErr_Clear();
  }
  const SourceId source = ctx.sources.dict_item(dict, key, hash);
  PyObject** result = python::private_field(item, PrivateField::CachedResult);
  if (!result) return {item, source};
  return {*result, ctx.sources.field(source, SourceKind::CachedResult)};
}

// Whether one more result would take another one's place.
bool is_full(PyObject* cached) {
  const Ref info =
      Ref::steal(PyObject_CallMethod(cached, "cache_info", nullptr));
  if (!info || !PyTuple_Check(info.get())) {
    PyErr_Clear();
    return true;
  }
  PyObject* most = PyTuple_GetItem(info, 2);
  return most != Py_None &&
         PyLong_AsLongLong(PyTuple_GetItem(info, 3)) >= PyLong_AsLongLong(most);
}

// Guards that the cache has it.
V found_value(Context& ctx, const Found& found, const Arguments& args) {
  for (auto part : {args.positional, args.keyword_values})
    for (V argument : part) (void)own_object(ctx, argument);
  V value = ctx.lazy(found.object, found.source);
  if (is_safe(found.object)) return ctx.look(value);
  ctx.guards.identity(found.source, found.object);
  return ctx.known(found.object, found.source);
}

// Calls of functions behind lru_cache that are being traced, and what was
// written since each began.
struct Traced {
  PyObject* cached;
  const values::Speculation* since;
};
thread_local std::vector<Traced> traced_calls;

struct TracedCall {
  TracedCall(PyObject* cached, const values::Speculation& since) {
    traced_calls.push_back({cached, &since});
  }
  ~TracedCall() { traced_calls.pop_back(); }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;
};

// Whether a compiled piece has the value before it has written to anything.
bool is_at_hand(Context& ctx, V value) {
  value = ctx.look_symbolic(value);
  return is_symbol(value) || value->is_constant() || value->source.valid() ||
         (value->kind == Kind::Tuple &&
          std::ranges::all_of(tuple_items(value),
                              [&](V item) { return is_at_hand(ctx, item); }));
}

struct CachedCall {
  V function;
  const Arguments& args;
  size_t uses;    // that there were before it
  bool is_quiet;  // hashing the arguments writes to nothing
};

// Has the real function count the call, too, when the caller's objects have got
// these writes. False where that can't be.
bool use_cache(Context& ctx, const CachedCall& call, size_t writes) {
  if (!call.function->source.valid() || !call.is_quiet) return false;
  values::CacheUse use{{call.function, call.args}, writes};
  if (!std::ranges::all_of(use.call.arguments,
                           [&](V value) { return is_at_hand(ctx, value); }))
    return false;
  ctx.cached_calls.use(ctx.journal, std::move(use), call.uses);
  return true;
}

// A call whose result neither the cache nor the trace has. What it computes is
// traced, and if it does nothing else, the function may be called for real.
Outcome<Known> trace_cached(Context& ctx, const CachedCall& traced) {
  const V cached = traced.function;
  const Arguments& args = traced.args;
  MG_TRY(V wrapped, get_attribute(ctx, cached, name<"__wrapped__">()));
  // What says so can be written to.
  PyObject** const function =
      python::private_field(cached->object, PrivateField::CachedFunction);
  if (!function || ctx.look(wrapped)->object != *function)
    return ctx.graph_break("native-call",
                           "a function behind lru_cache with another one's "
                           "__wrapped__",
                           "call it outside of the compiled function");
  const size_t objects = ctx.heap.size();
  const size_t reads = ctx.heap.reads_of_written();
  values::Speculation body(ctx);
  // What the outermost of such calls has made may be written to.
  const values::Speculation& outermost =
      traced_calls.empty() ? body : *traced_calls.front().since;
  // The trace of the call may come to know it, which rollback forgets.
  const auto is_open = [&](V value) { return holds_symbol(ctx, value); };
  const bool has_open = std::ranges::any_of(args.positional, is_open) ||
                        std::ranges::any_of(args.keyword_values, is_open);
  Outcome<V> result = [&] {
    const TracedCall scope(cached->object, body);
    return call(ctx, wrapped, args);
  }();
  const bool is_pure = !body.has_effects_outside(outermost);
  // What it computes depends on what has been written, if it looks at that.
  const size_t when = ctx.heap.reads_of_written() == reads
                          ? kBeforeWrites
                          : ctx.heap.callers_writes();
  if (!result) {
    if (is_pure && result.signal() == Signal::Raised)
      use_cache(ctx, traced, when);
    return result.signal();
  }
  V value = ctx.look_symbolic(result.value());
  const bool is_plain = value->is_constant() || is_symbol(value);
  if (is_pure && when == kBeforeWrites && !has_open && cached->source.valid() &&
      !is_full(cached->object)) {
    Ref made;
    MG_TRY(const bool called,
           call_really(ctx, cached->object, args, made, own_object));
    // The compiled piece, or plain Python, makes the call once more.
    if (called) python::uncount_cache_hit(cached->object);
    const Ref key =
        called ? key_of(ctx, cached->object, args, own_object) : Ref();
    const Found found = key ? find_cached(ctx, cached, key) : Found();
    if (found.source.valid() && found.object == made.get()) {
      body.rollback();
      const bool is_used = use_cache(ctx, traced, kBeforeWrites);
      ctx.keep(std::move(made));
      return Known{found_value(ctx, found, args), is_used};
    }
  }
  if (is_pure && (is_plain || ctx.shares_cached)) {
    if (!is_plain) ctx.heap.share_since(objects);
    return Known{value, use_cache(ctx, traced, when), when};
  }
  return ctx.graph_break(
      "native-call",
      "a function behind lru_cache that makes or changes objects",
      "let it return numbers, strings and the like, or call it outside of the "
      "compiled function");
}

// Hashes an argument as the making of a key does: what can't be hashed raises,
// and the program's own __hash__ runs.
Status hash_argument(Context& ctx, V value) {
  MG_DO(values::check_hashable(ctx, value->type));
  MG_TRY(V own, own_hash(ctx, value));
  if (own) {
    MG_TRY(V result, call(ctx, own, {}));
    (void)result;
    return done;
  }
  if (value->kind == Kind::Tuple)
    for (V item : tuple_items(value))
      MG_DO(hash_argument(ctx, ctx.look_symbolic(item)));
  return done;
}

// The cache belongs to the real program. What it has is what plain Python would
// get. What it doesn't have is computed by the trace: the function must give
// the same every time it is called, and do nothing else, for then nobody can
// tell. The object that it makes is the one that the cache has, for which the
// function is called; where that can't be done, one for each call is as good
// unless it is touched.
Outcome<V> call_cached(Context& ctx, const Arguments& all) {
  V cached = ctx.look(all.positional[0]);
  const Arguments args = without(all, 1);
  const bool is_recursive =
      cached->object &&
      std::ranges::count(traced_calls, cached->object, &Traced::cached) != 0;
  const values::Speculation hashing(ctx);
  for (auto part : {args.positional, args.keyword_values}) {
    for (V value : part) {
      // The recursion ends at a number that is known.
      value = is_recursive ? ctx.look(value) : ctx.look_symbolic(value);
      MG_DO(hash_argument(ctx, value));
    }
  }
  const CachedCall traced{.function = cached,
                          .args = args,
                          .uses = ctx.cached_calls.uses().size(),
                          .is_quiet = !hashing.has_effects()};
  Ref key = cached->source.valid()
                ? key_of(ctx, cached->object, args, plain_object)
                : Ref();
  if (!key) {
    MG_TRY(const Known made, trace_cached(ctx, traced));
    return made.result;
  }
  Known known = ctx.cached_calls.find(cached->object, key);
  if (known.result) {
    if (known.is_used) use_cache(ctx, traced, known.writes);
    return known.result;
  }
  const Found found = find_cached(ctx, cached, key);
  if (found.source.valid()) {
    ctx.keep(Ref::share(found.object));
    known = {found_value(ctx, found, args),
             use_cache(ctx, traced, kBeforeWrites)};
  } else {
    MG_TRY(known, trace_cached(ctx, traced));
  }
  ctx.cached_calls.add(ctx.journal, cached->object, std::move(key), known);
  return known.result;
}

Outcome<V> bind_cached(Context& ctx, const Arguments& args) {
  V function = ctx.look(args.positional[0]);
  MG_TRY(bool has_none, has_no_object(ctx, args));
  if (has_none) return function;
  return ctx.method(function, ctx.look(args.positional[1]));
}

constexpr Row kRows[] = {
    {"functools", "_lru_cache_wrapper.__call__", call_cached, 1, kAny, "*"},
    {"functools", "_lru_cache_wrapper.__get__", bind_cached, 2, 3, nullptr},
};

}  // namespace

std::span<const Row> cache_rows() { return kRows; }

}  // namespace magneto::natives
