// SPDX-License-Identifier: BSD-3-Clause
// functools: partial objects, reduce, and wrappers written in C.
#include <algorithm>

#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/layout.h"
#include "python/names.h"
#include "values/protocol/symbolic.h"

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

Outcome<bool> can_be_called(Context& ctx, V function) {
  V callable = ctx.constant_share(PyDict_GetItemString(builtins(), "callable"));
  MG_TRY(V answer, call(ctx, callable, {function}));
  return truth(ctx, answer);
}

Outcome<V> make_of(Context& ctx, PyTypeObject* type, const Arguments& args) {
  V function = ctx.look_function(args.positional[0]);
  MG_TRY(const bool is_callable, can_be_called(ctx, function));
  if (!is_callable)
    return ctx.raise(PyExc_TypeError, "the first argument must be callable");
  std::vector<V> positional;
  V keywords = ctx.dict();
  // A partial of a partial is one partial.
  if (function->type->tp_call == partial_type()->tp_call) {
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
  V slots[] = {function, ctx.tuple(positional), keywords};
  return ctx.iterator(type, slots, 0, Kind::Object);
}

Outcome<V> make_partial(Context& ctx, const Arguments& args) {
  return make_of(ctx, partial_type(), args);
}

// partial.__new__(cls, ...), for subclasses
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (args.count() < 2 || !type->is_constant() || !PyType_Check(type->object))
    return ctx.raise(PyExc_TypeError,
                     "type 'partial' takes at least one argument");
  return make_of(ctx, reinterpret_cast<PyTypeObject*>(type->object),
                 without(args, 1));
}

// partial.__setstate__: (self, (function, arguments, keywords, attributes)).
// The partial holds these very objects then.
Outcome<V> restore_partial(Context& ctx, const Arguments& args) {
  V partial = ctx.look(args.positional[0]);
  V state = ctx.look(args.positional[1]);
  const auto refuse = [&] {
    return ctx.graph_break("native-call", "partial.__setstate__ of this state");
  };
  if (partial->object || state->kind != Kind::Tuple) return refuse();
  const std::span<const V> parts = tuple_items(state);
  if (parts.size() != 4 || ctx.look(parts[3])->object != Py_None ||
      ctx.look(parts[kArguments])->type != &PyTuple_Type ||
      ctx.look(parts[kKeywords])->type != &PyDict_Type)
    return refuse();
  MG_TRY(const bool is_callable, can_be_called(ctx, parts[kFunction]));
  if (!is_callable) return refuse();
  for (const Part part : {kFunction, kArguments, kKeywords})
    ctx.heap.set_slot(partial->heap, part, parts[part]);
  return ctx.none();
}

Outcome<V> call_partial(Context& ctx, const Arguments& args) {
  const bool is_direct = std::exchange(ctx.native_is_direct, false);
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
  V function = part_of(ctx, partial, kFunction);
  ctx.direct_call = {.is_direct = is_direct, .holds_operands = true};
  return call(ctx, function,
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
  const Outcome<V> begun = iterate(ctx, args.positional[1]);
  MG_TRY(V iterator, values::iterator_or_error(ctx, begun, [] {
           return "reduce() arg 2 must support iteration";
         }));
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

// What functools._find_impl says of a class and those that functions are
// registered for, which stand for their functions. Null with a Python error
// set.
Ref find_registered(PyObject* type, std::span<PyObject* const> registered) {
  Ref functions = Ref::steal(PyDict_New());
  for (PyObject* each : registered)
    if (!functions || PyDict_SetItem(functions, each, each) < 0) return nullptr;
  Ref functools = import_module("functools");
  Ref search = Ref::steal(
      functools ? PyObject_GetAttrString(functools, "_find_impl") : nullptr);
  return Ref::steal(search ? PyObject_CallFunctionObjArgs(
                                 search, type, functions.get(), nullptr)
                           : nullptr);
}

// Of the class that was found, the one that was asked for, and the registered.
bool is_found_again(std::span<PyObject* const> classes) noexcept {
  const Ref found = find_registered(classes[1], classes.subspan(2));
  PyErr_Clear();
  return found.get() == classes[0];
}

// The class among the keys of `registry` whose function is for `type`.
Outcome<PyObject*> registered_class(Context& ctx,
                                    std::span<const DictEntry* const> registry,
                                    PyObject* type) {
  std::vector<PyObject*> classes;
  bool is_abstract = false;
  for (const DictEntry* entry : registry) {
    PyObject* key = ctx.look(entry->key)->object;
    if (key == type) return key;
    is_abstract |= Py_TYPE(key) != &PyType_Type;
    classes.push_back(key);
  }
  Ref found = find_registered(type, classes);
  if (!found) return ctx.raise_from_python();
  // What counts as a subclass changes with what is registered with it.
  if (is_abstract) {
    classes.insert(classes.begin(), {found, type});
    ctx.guards.class_fact(std::make_shared<guards::ClassFact>(
        is_found_again, classes,
        std::string("a generic function has one for ") +
            reinterpret_cast<PyTypeObject*>(type)->tp_name));
  }
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
    {kFunctools, "partial", make_partial, 1, kAny, "/ *"},
    {kFunctools, "partial.__new__", make_of_class, 1, kAny, "*"},
    {kFunctools, "partial.__setstate__", restore_partial, 2, 2, nullptr},
    {kFunctools, "partial.__call__", call_partial, 1, kAny, "*"},
    {kFunctools, "partial.func", read<kFunction>, 1, 1, nullptr},
    {kFunctools, "partial.args", read<kArguments>, 1, 1, nullptr},
    {kFunctools, "partial.keywords", read<kKeywords>, 1, 1, nullptr},
    {kFunctools, "reduce", reduce, 2, 3, nullptr},
    {kFunctools, "singledispatch.<locals>.wrapper", call_dispatched, 1, kAny,
     "*"},
};

}  // namespace

std::span<const Row> functools_rows() { return kRows; }

}  // namespace magneto::natives
