// SPDX-License-Identifier: BSD-3-Clause
// collections: OrderedDict, defaultdict, deque, and the C parts of namedtuple
// and Counter. How each keeps its state: its file in
// values/types/.
#include "natives/builtins/descriptor_get.h"
#include "natives/builtins/dicts.h"
#include "natives/builtins/text.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/layout.h"
#include "python/names.h"
#include "python/types.h"
#include "values/protocol/hashing.h"
#include "values/types/dict_iterators.h"
#include "values/types/dict_views.h"
#include "values/types/exceptions.h"
#include "values/types/made_classes.h"

namespace magneto::natives {

namespace {

PyTypeObject* class_named(const char* class_name) {
  Ref module = import_module("collections");
  MG_CHECK(module, "the module collections");
  // Lives as long as the module.
  return reinterpret_cast<PyTypeObject*>(
      PyObject_GetAttrString(module, class_name));
}

PyTypeObject* default_dict_type() {
  static PyTypeObject* const type = class_named("defaultdict");
  return type;
}

Outcome<V> dict_receiver(Context& ctx, const Arguments& args) {
  V dict = ctx.look(args.positional[0]);
  MG_CHECK(dict->kind == Kind::Dict, "a dict of the program's is a Dict");
  return dict;
}

// PyErr_SetObject(KeyError, key), which takes None for no argument, and a tuple
// for the arguments, as it is: of a derived class, too.
Signal ordered_key_error(Context& ctx, V key) {
  key = ctx.look(key);
  std::vector<V> arguments;
  if (is_instance_of(key, &PyTuple_Type))
    MG_DO(unpack(ctx, key, arguments));
  else if (key->object != Py_None)
    arguments.push_back(key);
  V made = make_exception(ctx, reinterpret_cast<PyTypeObject*>(PyExc_KeyError),
                          arguments);
  if (is_instance_of(key, &PyTuple_Type))
    ctx.heap.set_slot(made->heap, values::kArgs, key);
  return ctx.raise_value(made);
}

Signal missing_key(Context& ctx, const char* method) {
  return ctx.raise(
      PyExc_TypeError,
      std::string(method) + "() missing required argument 'key' (pos 1)");
}

// -- OrderedDict --------------------------------------------------------------

Outcome<V> make_ordered(Context& ctx, const Arguments& args) {
  V made = ctx.dict(&PyODict_Type);
  MG_DO(update_dict(ctx, made, argument(args, 0), args, true));
  return made;
}

Outcome<V> ordered_update(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  MG_DO(update_dict(ctx, dict, argument(args, 1), args, true));
  return ctx.none();
}

Outcome<V> ordered_pop(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  V key = argument(args, 1, interned().key);
  V fallback = argument(args, 2, interned().default_);
  if (!key) return missing_key(ctx, "pop");
  MG_TRY(V value, dict_pop(ctx, dict, key));
  if (value) return value;
  if (fallback) return fallback;
  return ordered_key_error(ctx, key);
}

Outcome<V> ordered_set_default(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  V key = argument(args, 1, interned().key);
  if (!key) return missing_key(ctx, "setdefault");
  V value = nullptr;
  if (dict->type == &PyODict_Type) {
    MG_TRY(value, dict_get(ctx, dict, key));
  } else {
    MG_TRY(bool there, contains(ctx, dict, key));
    if (there) return get_item(ctx, dict, key);
  }
  if (value) return value;
  value = argument(args, 2, interned().default_);
  if (!value) value = ctx.none();
  MG_DO(set_item(ctx, dict, key, value));
  return value;
}

Outcome<V> ordered_pop_item(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  bool last = true;
  if (V given = argument(args, 1, name<"last">())) {
    MG_TRY(last, truth(ctx, given));
  }
  return pop_item(ctx, dict, last);
}

Outcome<V> move_to_end(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  V key = argument(args, 1, interned().key);
  if (!key) return missing_key(ctx, "move_to_end");
  bool last = true;
  if (V given = argument(args, 2, name<"last">())) {
    MG_TRY(last, truth(ctx, given));
  }
  MG_TRY(PyObject * token, key_token(ctx, ctx.look(key)));
  const auto entries = dict_entries(ctx, dict);
  const Py_ssize_t place = ctx.heap.find(dict->heap, token);
  const DictEntry* moved =
      place < 0
          ? nullptr
          : &ctx.heap[dict->heap].dict->entries[static_cast<size_t>(place)];
  if (!moved || !moved->value) return ordered_key_error(ctx, key);
  if (moved == (last ? entries.back() : entries.front())) return ctx.none();
  // To the front: all others go behind it.
  std::vector<Ref> tokens;
  for (const DictEntry* entry : entries)
    if ((entry == moved) == last) tokens.push_back(entry->token.share());
  for (const Ref& each : tokens) ctx.heap.dict_move_to_end(dict->heap, each);
  return ctx.none();
}

Outcome<V> ordered_copy(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  if (dict->type == &PyODict_Type)
    return make_ordered(ctx, {.positional = {&dict, 1}});
  auto* type = reinterpret_cast<PyObject*>(dict->type);
  MG_TRY(V made, call(ctx, ctx.known(type), {}));
  for (V key : items_of(ctx, dict).keys) {
    MG_TRY(V value, get_item(ctx, dict, key));
    MG_DO(set_item(ctx, made, key, value));
  }
  return made;
}

template <bool reflected>
Outcome<V> ordered_or(Context& ctx, const Arguments& args) {
  V left = ctx.look(args.positional[reflected ? 1 : 0]);
  V right = ctx.look(args.positional[reflected ? 0 : 1]);
  if (left->kind != Kind::Dict || right->kind != Kind::Dict)
    return ctx.constant_share(Py_NotImplemented);
  V own = ctx.look(args.positional[0]);
  auto* type = reinterpret_cast<PyObject*>(own->type);
  MG_TRY(V made, call(ctx, ctx.known(type), {left}));
  MG_DO(update_dict(ctx, made, right, {}, true));
  return made;
}

Outcome<V> ordered_in_place_or(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  MG_DO(update_dict(ctx, dict, args.positional[1], {}, true));
  return dict;
}

Outcome<V> ordered_reversed(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  return dict_iterator(ctx, dict, DictPart::Keys, true);
}

template <Literal method>
Outcome<V> ordered_view(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  return dict_view(ctx, dict, method.text);
}

Outcome<V> ordered_clear(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  ctx.heap.dict_complete(dict->heap, ctx);
  ctx.heap.dict_clear(dict->heap);
  return ctx.none();
}

// -- defaultdict --------------------------------------------------------------

Outcome<V> factory_of(Context& ctx, V dict) {
  if (!dict->object) {
    const auto& slots = ctx.heap[dict->heap].slots;
    return slots.empty() ? ctx.none() : slots[0];
  }
  PyObject** field =
      python::private_field(dict->object, python::PrivateField::DefaultFactory);
  MG_CHECK(field, "a defaultdict");
  if (!*field) return ctx.none();
  return ctx.lazy(
      *field,
      ctx.sources.field(dict->source, guards::SourceKind::DefaultFactory));
}

Status set_factory(Context& ctx, V dict, V factory) {
  if (dict->object)
    return ctx.graph_break("c-attribute-write", "defaultdict.default_factory",
                           "set it outside of the compiled function");
  // Right after __new__, or a second time.
  if (ctx.heap[dict->heap].slots.empty())
    ctx.heap.initial(dict->heap).slots = {factory};
  else
    ctx.heap.set_slot(dict->heap, 0, factory);
  return done;
}

Outcome<V> default_initialise(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  V factory = args.count() > 1 ? args.positional[1] : ctx.none();
  if (callable_argument(ctx, factory)) {
    PyObject* const callable = PyDict_GetItemString(builtins(), "callable");
    MG_TRY(V answer, call(ctx, ctx.constant_share(callable), {factory}));
    MG_TRY(const bool is_callable, truth(ctx, answer));
    if (!is_callable)
      return ctx.raise(PyExc_TypeError,
                       "first argument must be callable or None");
  }
  constexpr size_t kMost = 3;
  if (args.count() > kMost)
    return ctx.raise(PyExc_TypeError,
                     "dict expected at most 1 argument, got " +
                         std::to_string(args.count() - kMost + 1));
  MG_DO(set_factory(ctx, dict, factory));
  MG_DO(update_dict(ctx, dict, argument(args, 2), args, false));
  return ctx.none();
}

Outcome<V> make_default(Context& ctx, const Arguments& args) {
  V made = ctx.dict(default_dict_type());
  std::vector<V> positional{made};
  positional.insert(positional.end(), args.positional.begin(),
                    args.positional.end());
  MG_TRY(V ignored,
         default_initialise(ctx, {.positional = positional,
                                  .keyword_values = args.keyword_values,
                                  .keyword_names = args.keyword_names}));
  (void)ignored;
  return made;
}

Outcome<V> default_missing(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  MG_TRY(V factory, factory_of(ctx, dict));
  factory = ctx.look(factory);
  if (factory->is_constant() && factory->object == Py_None)
    return key_error(ctx, args.positional[1]);
  MG_TRY(V value, call(ctx, factory, {}));
  MG_DO(set_item(ctx, dict, args.positional[1], value));
  return value;
}

Outcome<V> default_factory(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  return factory_of(ctx, dict);
}

Outcome<V> default_copy(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  MG_TRY(V factory, factory_of(ctx, dict));
  auto* type = reinterpret_cast<PyObject*>(dict->type);
  return call(ctx, ctx.known(type), {factory, dict});
}

// The union of two dicts, one of them a defaultdict: its copy, updated.
template <bool reflected>
Outcome<V> default_or(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  V other = ctx.look(args.positional[1]);
  if (self->kind != Kind::Dict || other->kind != Kind::Dict)
    return ctx.constant_share(Py_NotImplemented);
  V left = reflected ? other : self, right = reflected ? self : other;
  MG_TRY(V factory, factory_of(ctx, self));
  auto* type = reinterpret_cast<PyObject*>(self->type);
  MG_TRY(V made, call(ctx, ctx.known(type), {factory, left}));
  MG_DO(update_dict(ctx, made, right, {}, false));
  return made;
}

Outcome<V> default_repr(Context& ctx, const Arguments& args) {
  MG_TRY(V dict, dict_receiver(ctx, args));
  MG_TRY(V factory, factory_of(ctx, dict));
  MG_TRY(V factory_text, repr_of(ctx, factory));
  V plain = ctx.dict();
  MG_DO(update_dict(ctx, plain, dict, {}, false));
  MG_TRY(V items_text, repr_of(ctx, plain));
  return concatenated(
      ctx, {ctx.string(std::string(python::short_name(dict->type)) + "("),
            factory_text, ctx.string(", "), items_text, ctx.string(")")});
}

// -- namedtuple ---------------------------------------------------------------

// _tuplegetter.__get__(self, object, class): what position it reads is asked
// of the getter itself, with a tuple of positions.
Outcome<V> field_of_tuple(Context& ctx, const Arguments& args) {
  V getter = ctx.look(args.positional[0]);
  V object = ctx.look(args.positional[1]);
  MG_TRY(bool has_none, has_no_object(ctx, args));
  if (has_none) return getter;
  std::vector<V> items;
  if (!is_instance_of(object, &PyTuple_Type))
    return ctx.raise(PyExc_TypeError,
                     "descriptor for a field of a namedtuple doesn't apply");
  if (object->kind == Kind::Tuple) {
    auto span = tuple_items(object);
    items.assign(span.begin(), span.end());
  } else {
    // Without what a class derived from it says of its items.
    Ref plain = Ref::steal(
        PyTuple_GetSlice(object->object, 0, PyTuple_GET_SIZE(object->object)));
    MG_CHECK(plain, "out of memory");
    MG_DO(unpack(ctx, ctx.constant(std::move(plain)), items));
  }
  Ref positions =
      Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  MG_CHECK(positions, "out of memory");
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(positions.get(), static_cast<Py_ssize_t>(i),
                     PyLong_FromSize_t(i));
  Ref position = Ref::steal(
      Py_TYPE(getter->object)
          ->tp_descr_get(getter->object, positions,
                         reinterpret_cast<PyObject*>(&PyTuple_Type)));
  if (!position) return ctx.raise_from_python();
  return items[PyLong_AsSize_t(position)];
}

// The name of the module that runs, which the class gets unless it is told
// another; null if it isn't plain.
PyObject* current_module(Context& ctx) {
  PyObject* found = PyDict_GetItemWithError(ctx.inliner->current_globals(),
                                            name<"__name__">());
  return found && PyUnicode_CheckExact(found) ? found : nullptr;
}

Outcome<V> named_tuple(Context& ctx, const Arguments& args) {
  const auto refuse = [&] {
    return ctx.graph_break("native-call", "collections.namedtuple of unknowns",
                           "make the class outside of the compiled function");
  };
  Ref positional =
      Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(args.count())));
  Ref keywords = Ref::steal(PyDict_New());
  MG_CHECK(positional && keywords, "out of memory");
  const auto set = [&](PyObject* key, PyObject* value) {
    MG_CHECK(PyDict_SetItem(keywords, key, value) == 0, "names of keywords");
  };
  PyObject* module = current_module(ctx);
  if (!module) return refuse();
  set(name<"module">(), module);
  for (size_t i = 0; i < args.count(); ++i) {
    PyObject* real = safe_object(ctx, args.positional[i]);
    if (!real) return refuse();
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i),
                     Ref::share(real).release());
  }
  for (size_t i = 0; i < args.keyword_names.size(); ++i) {
    PyObject* real = safe_object(ctx, args.keyword_values[i]);
    if (!real) return refuse();
    const bool is_default =
        real == Py_None && args.keyword_names[i] == name<"module">();
    if (!is_default) set(args.keyword_names[i], real);
  }
  return values::make_named_tuple_class(ctx, std::move(positional),
                                        std::move(keywords));
}

constexpr const char* kCollections = "collections";

constexpr Row kRows[] = {
    {kCollections, "OrderedDict", make_ordered, 0, 1, "*"},
    {kCollections, "OrderedDict.__init__", ordered_update, 1, 2, "*"},
    {kCollections, "OrderedDict.update", ordered_update, 1, 2, "*"},
    {kCollections, "OrderedDict.pop", ordered_pop, 1, 3, "key default"},
    {kCollections, "OrderedDict.popitem", ordered_pop_item, 1, 2, "last"},
    {kCollections, "OrderedDict.setdefault", ordered_set_default, 1, 3,
     "key default"},
    {kCollections, "OrderedDict.move_to_end", move_to_end, 1, 3, "key last"},
    {kCollections, "OrderedDict.clear", ordered_clear, 1, 1, nullptr},
    {kCollections, "OrderedDict.copy", ordered_copy, 1, 1, nullptr},
    {kCollections, "OrderedDict.keys", ordered_view<"keys">, 1, 1, nullptr},
    {kCollections, "OrderedDict.values", ordered_view<"values">, 1, 1, nullptr},
    {kCollections, "OrderedDict.items", ordered_view<"items">, 1, 1, nullptr},
    {kCollections, "OrderedDict.__or__", ordered_or<false>, 2, 2, nullptr},
    {kCollections, "OrderedDict.__ror__", ordered_or<true>, 2, 2, nullptr},
    {kCollections, "OrderedDict.__ior__", ordered_in_place_or, 2, 2, nullptr},
    {kCollections, "OrderedDict.__reversed__", ordered_reversed, 1, 1, nullptr},
    row::polyfill(kCollections, "OrderedDict.fromkeys",
                  "collections.ordered_from_keys"),
    {kCollections, "defaultdict", make_default, 0, kAny, "*"},
    {kCollections, "defaultdict.__init__", default_initialise, 1, kAny, "*"},
    {kCollections, "defaultdict.__missing__", default_missing, 2, 2, nullptr},
    {kCollections, "defaultdict.default_factory", default_factory, 1, 1,
     nullptr},
    {kCollections, "defaultdict.copy", default_copy, 1, 1, nullptr},
    {kCollections, "defaultdict.__copy__", default_copy, 1, 1, nullptr},
    {kCollections, "defaultdict.__or__", default_or<false>, 2, 2, nullptr},
    {kCollections, "defaultdict.__ror__", default_or<true>, 2, 2, nullptr},
    {kCollections, "defaultdict.__repr__", default_repr, 1, 1, nullptr},
    {kCollections, "namedtuple", named_tuple, 0, 2,
     "typename field_names rename defaults module"},
    {kCollections, "_tuplegetter.__get__", field_of_tuple, 2, 3, nullptr},
    row::polyfill(kCollections, "_count_elements",
                  "collections.count_elements"),
};

}  // namespace

std::span<const Row> collections_rows() { return kRows; }

}  // namespace magneto::natives
