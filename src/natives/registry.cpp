// SPDX-License-Identifier: BSD-3-Clause
// Finding the row of a callable, and doing what it says.
#include "natives/registry.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "natives/builtins/iterators.h"
#include "natives/builtins/text.h"
#include "natives/marks.h"
#include "natives/pure.h"
#include "natives/receiver_checks.h"
#include "natives/signature.h"
#include "natives/symbolic.h"
#include "python/bind.h"
#include "python/find.h"
#include "python/iterator_layout.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/types.h"
#include "tensor/fake_tensor.h"
#include "values/model/recursion.h"
#include "values/protocol/attributes.h"
#include "values/types/definitions.h"
#include "values/types/exceptions.h"
#include "values/types/numpy_values.h"

namespace magneto::natives {

#define MG_ROWS(function) std::span<const Row> function();
#include "natives/tables.def"
#undef MG_ROWS

namespace {

struct NamelessType {
  const char* name;
  PyTypeObject* type;
};
// Classes of CPython's that are no attribute of any module.
std::span<const NamelessType> nameless_types() {
  static const NamelessType types[] = {
      {"dict_keys", &PyDictKeys_Type},
      {"dict_values", &PyDictValues_Type},
      {"dict_items", &PyDictItems_Type},
      {"odict_keys", &PyODictKeys_Type},
      {"odict_values", &PyODictValues_Type},
      {"odict_items", &PyODictItems_Type},
      {"dict_keyiterator", &PyDictIterKey_Type},
      {"dict_valueiterator", &PyDictIterValue_Type},
      {"dict_itemiterator", &PyDictIterItem_Type},
      {"dict_reversekeyiterator", &PyDictRevIterKey_Type},
      {"dict_reversevalueiterator", &PyDictRevIterValue_Type},
      {"dict_reverseitemiterator", &PyDictRevIterItem_Type},
      {"odict_iterator", &PyODictIter_Type},
      {"list_iterator", &PyListIter_Type},
      {"tuple_iterator", &PyTupleIter_Type},
      {"range_iterator", &PyRangeIter_Type},
      {"set_iterator", &PySetIter_Type},
      {"iterator", &PySeqIter_Type},
      {"str_iterator", &PyUnicodeIter_Type},
      {"str_ascii_iterator", python::ascii_iterator()},
      {"bytes_iterator", &PyBytesIter_Type},
      {"list_reverseiterator", &PyListRevIter_Type},
      {"callable_iterator", &PyCallIter_Type},
      {"generator", &PyGen_Type},
      {"coroutine", &PyCoro_Type},
      {"function", &PyFunction_Type},
      {"method", &PyMethod_Type},
      {"builtin_function_or_method", &PyCFunction_Type},
      {"method_descriptor", &PyMethodDescr_Type},
      {"wrapper_descriptor", &PyWrapperDescr_Type},
      {"method-wrapper", python::method_wrapper_type()},
      {"cell", &PyCell_Type},
      {"module", &PyModule_Type},
      {"NoneType", Py_TYPE(Py_None)},
  };
  return types;
}

// What a user calls it, for messages: math.sqrt, list.append.
// What the program has told PyTorch's compiler to trace in the callable's
// place; None, or null with a Python error set.
Ref substitute_of(PyObject* callable) {
  tensor::RealModeScope real;
  Ref module = import_module("magneto.heard_calls");
  return Ref::steal(
      module ? PyObject_CallMethod(module, "substitute_of", "O", callable)
             : nullptr);
}

// The callable has no meaning of ours, or not with these arguments.
Outcome<V> refuse(Context& ctx, PyObject* callable, const Arguments& args,
                  const char* hint) {
  Ref substitute = substitute_of(callable);
  if (!substitute) return ctx.raise_from_python();
  if (substitute.get() != Py_None)
    return values::call(ctx, ctx.known(std::move(substitute)), args);
  std::string detail = describe(callable);
  if (args.count()) {
    detail += " of ";
    for (size_t i = 0; i < args.count() && i < 4; ++i)
      detail += std::string(i ? ", " : "") +
                python::short_name(args.positional[i]->type);
  }
  return ctx.graph_break("native-call", detail, hint);
}

constexpr const char* kOutside = "call it outside of the compiled function";

Outcome<V> call_pure(Context& ctx, PyObject* callable, const Arguments& args,
                     PyObject* (*convert)(Context&, V)) {
  Ref result;
  MG_TRY(bool called, call_really(ctx, callable, args, result, convert));
  if (!called) return refuse(ctx, callable, args, kOutside);
  return lift(ctx, std::move(result));
}

// -- the table ----------------------------------------------------------------

struct Entry {
  const Row* row;
  Ref object;  // keeps the address from being used again
};

class Registry final : public values::NativeTable {
 public:
  Registry();
  // Finds the rows of modules that have been imported since.
  void refresh();

  bool has(PyObject* callable) const override {
    return find(callable) || find(code_of(callable));
  }
  Outcome<V> call(Context& ctx, V callable, const Arguments& args) override;
  bool is_allowed(PyObject* callable) const override {
    // Compilers call what a graph calls by its name.
    return mark_of(callable) == Mark::InGraph &&
           PyObject_HasAttr(callable, interned().dunder_name) == 1;
  }
  Outcome<V> next_item(Context& ctx, V iterator) override;
  Outcome<V> format(Context& ctx, V value, int conversion, V spec) override {
    return format_field(ctx, value, conversion, spec);
  }
  Outcome<V> tensor_attribute(Context& ctx, V tensor, PyObject* name) override {
    return natives::tensor_attribute(ctx, tensor, name);
  }
  Status set_tensor_attribute(Context& ctx, V tensor, PyObject* name,
                              V value) override {
    return natives::set_tensor_attribute(ctx, tensor, name, value);
  }

 private:
  // Rows of one module, until it is imported.
  struct Waiting {
    Ref name;
    std::vector<std::span<const Row>> rows;
  };
  void add(std::span<const Row> rows);
  void resolve(PyObject* module, std::span<const Row> rows);
  void enter(Ref found, const Row& row, PyTypeObject* owner);
  // The code of a Python function; null for anything else.
  static PyObject* code_of(PyObject* callable) {
    return PyFunction_Check(callable) ? PyFunction_GET_CODE(callable) : nullptr;
  }
  const Row* find(PyObject* callable) const {
    // int.__getattribute__ and so on: another object, the same function.
    if (callable && Py_IS_TYPE(callable, &PyWrapperDescr_Type) &&
        reinterpret_cast<PyWrapperDescrObject*>(callable)->d_wrapped ==
            reinterpret_cast<void*>(PyObject_GenericGetAttr))
      callable = python::mro_lookup(&PyBaseObject_Type,
                                    interned().dunder_getattribute);
    auto found = entries_.find(callable);
    return found == entries_.end() ? nullptr : found->second.row;
  }
  Outcome<V> call_any(Context& ctx, V callable, const Arguments& args);
  Outcome<V> call_unlisted(Context& ctx, V callable, const Arguments& args);
  Outcome<V> call_bound(Context& ctx, V callable, const Arguments& args,
                        bool* found);

  std::unordered_map<PyObject*, Entry> entries_;
  std::unordered_map<PyTypeObject*, NextItem> next_;
  std::vector<Waiting> waiting_;
};

Registry::Registry() {
  entries_.reserve(8192);
#define MG_ROWS(function) add(function());
#include "natives/tables.def"
#undef MG_ROWS
  refresh();
}

void Registry::add(std::span<const Row> rows) {
  // Rows of one module stand together.
  size_t begin = 0;
  while (begin < rows.size()) {
    std::string_view module = rows[begin].module;
    size_t end = begin;
    while (end < rows.size() && rows[end].module == module) ++end;
    auto part = rows.subspan(begin, end - begin);
    begin = end;
    if (module == "<types>") {
      resolve(nullptr, part);
      continue;
    }
    Waiting* waiting = nullptr;
    for (Waiting& other : waiting_)
      if (PyUnicode_CompareWithASCIIString(other.name, part[0].module) == 0)
        waiting = &other;
    if (!waiting) {
      waiting_.push_back(
          {Ref::steal(PyUnicode_InternFromString(part[0].module)), {}});
      waiting = &waiting_.back();
    }
    waiting->rows.push_back(part);
  }
}

void Registry::refresh() {
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    PyObject* module = loaded_module(waiting.name);
    if (!module) return false;
    for (auto rows : waiting.rows) resolve(module, rows);
    return true;
  });
}

PyTypeObject* nameless_type(std::string_view name) {
  for (const NamelessType& row : nameless_types())
    if (name == row.name) return row.type;
  return name == "KeyWrapper" ? python::comparison_key_type() : nullptr;
}

// The code of the function of that name which `code` makes.
PyObject* nested_code(PyObject* code, std::string_view name) {
  PyObject* constants = reinterpret_cast<PyCodeObject*>(code)->co_consts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i) {
    PyObject* constant = PyTuple_GET_ITEM(constants, i);
    if (PyCode_Check(constant) &&
        values::attribute_name(
            reinterpret_cast<PyCodeObject*>(constant)->co_name) == name)
      return constant;
  }
  return nullptr;
}

Ref attribute(PyObject* object, std::string_view name) {
  if (name == "<locals>")
    return Ref::share(PyFunction_Check(object) ? PyFunction_GET_CODE(object)
                                               : object);
  if (PyCode_Check(object)) return Ref::share(nested_code(object, name));
  Ref key = Ref::steal(PyUnicode_FromStringAndSize(
      name.data(), static_cast<Py_ssize_t>(name.size())));
  MG_CHECK(key, "out of memory");
  // A class's own entry, unbound.
  if (PyType_Check(object))
    return Ref::share(PyDict_GetItemWithError(
        reinterpret_cast<PyTypeObject*>(object)->tp_dict, key));
  if (PyModule_Check(object))
    return Ref::share(PyDict_GetItemWithError(PyModule_GetDict(object), key));
  Ref found = Ref::steal(PyObject_GetAttr(object, key));
  if (!found) PyErr_Clear();
  return found;
}

// A function that somebody has put in the place of the one that is meant.
bool is_replaced(PyObject* found, const Row& row) {
  if (!PyFunction_Check(found)) return false;
  std::string_view actual = module_of_function(found);
  if (actual.empty()) return true;
  std::string_view meant = row.module;
  meant = meant.substr(0, meant.find('.'));
  if (actual.starts_with("_")) actual.remove_prefix(1);
  if (meant.starts_with("_")) meant.remove_prefix(1);
  return actual != meant && !actual.starts_with(std::string(meant) + ".");
}

void Registry::resolve(PyObject* module, std::span<const Row> rows) {
  // Methods of one class stand together as well.
  std::string_view last_path;
  Ref last;
  for (const Row& row : rows) {
    std::string_view name = row.name;
    const size_t dot = name.rfind('.');
    std::string_view path = dot == std::string_view::npos ? std::string_view()
                                                          : name.substr(0, dot);
    if (!last || path != last_path) {
      last = Ref::share(module);
      last_path = path;
      for (std::string_view rest = path; !rest.empty();) {
        const size_t at = rest.find('.');
        std::string_view step = rest.substr(0, at);
        rest = at == std::string_view::npos ? std::string_view()
                                            : rest.substr(at + 1);
        if (!last) {
          last = Ref::share(reinterpret_cast<PyObject*>(nameless_type(step)));
          MG_CHECK(last, "a row of an unknown class");
        } else {
          last = attribute(last, step);
        }
        if (!last) break;
      }
    }
    Ref found;
    if (!module && path.empty())
      found = Ref::share(reinterpret_cast<PyObject*>(nameless_type(name)));
    else if (last)
      found = attribute(last, path.empty() ? name : name.substr(dot + 1));
    if (found && (Py_IS_TYPE(found.get(), &PyStaticMethod_Type) ||
                  Py_IS_TYPE(found.get(), &PyClassMethod_Type)))
      found = attribute(found, "__func__");
    // Null: this release has no such thing.
    if (!found || is_replaced(found, row)) continue;
    enter(std::move(found), row,
          last && PyType_Check(last.get())
              ? reinterpret_cast<PyTypeObject*>(last.get())
              : nullptr);
  }
}

void Registry::enter(Ref found, const Row& row, PyTypeObject* owner) {
  if (row.meaning == Meaning::Next) {
    MG_CHECK(owner, "__next__ belongs to a class");
    next_[owner] = row.next;
  }
  PyObject* key = found.get();
  // None and the like can't be rows: some releases lack the function.
  if (key == Py_None) return;
  entries_.insert_or_assign(key, Entry{&row, std::move(found)});
}

Outcome<V> Registry::call(Context& ctx, V callable, const Arguments& args) {
  if (!ctx.witness) [[likely]]
    return call_any(ctx, callable, args);
  using Decision = Witness::Decision;
  PyObject* object = callable->object;
  const size_t calls = ctx.graph().call_count();
  Outcome<V> result = call_any(ctx, callable, args);
  // Those that put calls into the graph are told of by these.
  if (!result && result.signal() == Signal::Break)
    ctx.witness->met(object, Decision::Skip, ctx.break_info().detail.c_str());
  else if (ctx.graph().call_count() == calls)
    ctx.witness->met(object, Decision::Inline, "computed while tracing");
  return result;
}

Outcome<V> Registry::call_any(Context& ctx, V callable, const Arguments& args) {
  // Natives that call each other without a Python function between them.
  struct Depth {
    int32_t& depth;
    ~Depth() { --depth; }
  } depth{ctx.native_depth};
  if (++ctx.native_depth > Py_GetRecursionLimit())
    return ctx.raise(PyExc_RecursionError, "maximum recursion depth exceeded");
  const Row* own = find(callable->object);
  const Mark mark = mark_of(callable->object);
  if (mark != Mark::None && !(own && mark == Mark::DisabledByTorch))
    return call_marked(ctx, callable->object, mark, args);
  MG_TRY(V number, call_symbolic(ctx, callable->object, args));
  if (number) return number;
  if (own) return call_row(ctx, *own, callable->object, args);
  if (const Row* row = find(code_of(callable->object))) {
    std::vector<V> positional{callable};
    positional.insert(positional.end(), args.positional.begin(),
                      args.positional.end());
    return call_row(ctx, *row, callable->object,
                    {.positional = positional,
                     .keyword_values = args.keyword_values,
                     .keyword_names = args.keyword_names});
  }
  return call_unlisted(ctx, callable, args);
}

Outcome<V> Registry::next_item(Context& ctx, V iterator) {
  auto found = next_.find(iterator->type);
  if (found != next_.end()) return found->second(ctx, iterator);
  return ctx.graph_break("native-call",
                         std::string("next() of a ") + iterator->type->tp_name,
                         "iterate outside of the compiled function");
}

// A builtin method that is bound already: dict.fromkeys, or a list's append
// that the caller has taken out of it.
Outcome<V> Registry::call_bound(Context& ctx, V callable, const Arguments& args,
                                bool* found) {
  PyObject* self = PyCFunction_GET_SELF(callable->object);
  *found = false;
  if (!self || PyModule_Check(self)) return nullptr;
  Ref name = Ref::steal(PyUnicode_InternFromString(
      reinterpret_cast<PyCFunctionObject*>(callable->object)->m_ml->ml_name));
  MG_CHECK(name, "out of memory");
  PyTypeObject* owner = PyType_Check(self)
                            ? reinterpret_cast<PyTypeObject*>(self)
                            : Py_TYPE(self);
  PyObject* descriptor = python::mro_lookup(owner, name);
  const Row* row = descriptor ? find(descriptor) : nullptr;
  if (!row) return nullptr;
  *found = true;
  guards::SourceId source =
      callable->source.valid()
          ? ctx.sources.field(callable->source, guards::SourceKind::BuiltinSelf)
          : ctx.sources.constant(self);
  std::vector<V> positional{ctx.known(self, source)};
  positional.insert(positional.end(), args.positional.begin(),
                    args.positional.end());
  return call_row(ctx, *row, descriptor,
                  {.positional = positional,
                   .keyword_values = args.keyword_values,
                   .keyword_names = args.keyword_names,
                   .is_bound = !PyType_Check(self)});
}

// Whether a method takes texts for their characters alone: all those of texts
// do, but for translate(), which asks a table for items.
bool reads_characters(PyObject* method, PyTypeObject* owner) {
  return (owner == &PyUnicode_Type || owner == &PyBytes_Type) &&
         Py_IS_TYPE(method, &PyMethodDescr_Type) &&
         values::attribute_name(PyDescr_NAME(method)) != "translate" &&
         values::attribute_name(PyDescr_NAME(method)) != "join";
}

// A tuple in which some items are arguments as they were given
// (str.partition()); null if other items are no data.
V with_arguments(Context& ctx, PyObject* result, const Arguments& args) {
  if (!PyTuple_CheckExact(result)) return nullptr;
  std::vector<V> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, i);
    const auto given = std::ranges::find_if(args.positional, [&](V value) {
      return ctx.look(value)->object == item;
    });
    if (given != args.positional.end())
      items.push_back(ctx.look(*given));
    else if (is_safe(item))
      items.push_back(ctx.constant_share(item));
    else
      return nullptr;
  }
  return ctx.tuple(items);
}

// Without a row: methods of numbers, strings and the like, on nothing but
// those, are pure.
Outcome<V> Registry::call_unlisted(Context& ctx, V callable,
                                   const Arguments& args) {
  PyObject* object = callable->object;
  if (Py_IS_TYPE(object, &PyClassMethodDescr_Type) && args.count()) {
    V type = ctx.look(args.positional[0]);
    if (!type->is_constant()) return refuse(ctx, object, args, kOutside);
    Ref bound = python::bind_in_c(object, type->object);
    if (!bound) return ctx.raise_from_python();
    return call_unlisted(ctx, ctx.constant(std::move(bound)), without(args, 1));
  }
  PyTypeObject* owner = owner_of(object);
  if (PyCFunction_Check(object)) {
    bool found = false;
    MG_TRY(V result, call_bound(ctx, callable, args, &found));
    if (found) return result;
    PyObject* self = PyCFunction_GET_SELF(object);
    if (self && !PyModule_Check(self))
      owner = PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self)
                                 : Py_TYPE(self);
  } else if (!owner) {
    // An instance that is called.
    PyObject* method =
        python::mro_lookup(Py_TYPE(object), interned().dunder_call);
    if (const Row* row = method ? find(method) : nullptr) {
      std::vector<V> positional{callable};
      positional.insert(positional.end(), args.positional.begin(),
                        args.positional.end());
      return call_row(ctx, *row, method,
                      {.positional = positional,
                       .keyword_values = args.keyword_values,
                       .keyword_names = args.keyword_names});
    }
  }
  MG_TRY(bool fits, check_receiver(ctx, object, args));
  (void)fits;
  if (owner && is_safe_type(owner)) {
    // The receiver may be of a subclass (an enum member): C code doesn't ask
    // it for more. Other arguments may be asked for anything.
    const bool is_method = owner_of(object) != nullptr;
    auto* const convert =
        reads_characters(object, owner) ? read_object : plain_object;
    for (V value : without(args, is_method ? 1 : 0).positional)
      if (!convert(ctx, value)) return refuse(ctx, object, args, kOutside);
    Ref result;
    const values::NumpyErrors errors(values::is_numpy_number(owner));
    MG_TRY(bool called,
           call_really(
               ctx, object, args, result,
               is_method && !args.has_keywords() ? examined_object : convert));
    if (called && is_safe(result)) return from_constant(ctx, std::move(result));
    if (called) {
      if (V parts = with_arguments(ctx, result, args)) return parts;
    }
  }
  return refuse(ctx, object, args, kOutside);
}

}  // namespace

Outcome<V> call_row(Context& ctx, const Row& row, PyObject* callable,
                    const Arguments& args) {
  const RecursionScope scope;
  MG_DO(scope.check(ctx, " while calling a Python object"));
  MG_TRY(bool fits, check_receiver(ctx, callable, args));
  (void)fits;
  MG_DO(check_ordered(ctx, callable, args));
  MG_DO(check_new(ctx, callable, args));
  switch (row.meaning) {
    case Meaning::Handle:
      MG_DO(check_signature(ctx, row, callable, args));
      return row.handler(ctx, args);
    case Meaning::Next: {
      MG_DO(check_next(ctx, args));
      V iterator = ctx.look(args.positional[0]);
      if (iterator->kind != Kind::Iterator)
        return ctx.graph_break("caller-iterator",
                               std::string("a ") +
                                   python::short_name(iterator->type) +
                                   " that was made outside of the trace",
                               "make the iterator inside of the compiled "
                               "function, or pass a list");
      ctx.end_value = nullptr;
      V ended = nullptr;
      MG_TRY(V item,
             unless_stopped(ctx,
                            is_begun(iterator) ? next_begun(ctx, iterator)
                                               : row.next(ctx, iterator),
                            &ended));
      if (item) return item;
      return stop_iteration(ctx, ended ? ended : ctx.end_value);
    }
    case Meaning::Pure:
      return call_pure(ctx, callable, args, plain_object);
    case Meaning::Define:
    case Meaning::Evaluate:
      if (args.count())
        if (PyObject* object = examined_object(ctx, args.positional[0]))
          MG_DO(values::rely_on_definition(ctx, object,
                                           row.meaning == Meaning::Evaluate));
      return call_pure(ctx, callable, args, examined_object);
    case Meaning::Examine:
      return call_pure(ctx, callable, args, argument_object);
    case Meaning::Read:
      return call_pure(ctx, callable, args, read_object);
    case Meaning::Polyfill:
      MG_DO(check_signature(ctx, row, callable, args));
      return call_polyfill(ctx, row.text, args);
    case Meaning::Function:
      return record_function(ctx, callable, args);
    case Meaning::Method: {
      std::string_view path = row.name;
      Ref name = Ref::steal(PyUnicode_InternFromString(
          std::string(path.substr(path.rfind('.') + 1)).c_str()));
      MG_CHECK(name, "out of memory");
      return record_method(ctx, ctx.keep(std::move(name)), args);
    }
    case Meaning::Break:
      return refuse(ctx, callable, args, row.text);
  }
  MG_CHECK(false, "a meaning of a row");
}

PyObject* find_polyfill(const char* path) {
  // Kept as long as the process lives, as the module is.
  static std::unordered_map<std::string_view, PyObject*> found;
  PyObject*& function = found[path];
  if (!function) {
    std::string_view text = path;
    const size_t dot = text.rfind('.');
    std::string module =
        "magneto.polyfills." + std::string(text.substr(0, dot));
    Ref imported = import_module(module.c_str());
    if (!imported) return nullptr;
    // It may have rows of its own.
    (void)table();
    function = PyObject_GetAttrString(
        imported, std::string(text.substr(dot + 1)).c_str());
    MG_CHECK(function, "a polyfill that is there");
  }
  return function;
}

Outcome<V> polyfill(Context& ctx, const char* path) {
  PyObject* function = find_polyfill(path);
  if (!function) return ctx.raise_from_python();
  return ctx.known(function);
}

Outcome<V> call_polyfill(Context& ctx, const char* path,
                         const Arguments& args) {
  MG_TRY(V function, polyfill(ctx, path));
  return call(ctx, function, args);
}

values::NativeTable& table() {
  // Lives as long as the process: rows hold objects of modules that do.
  static Registry* const registry = new Registry;
  registry->refresh();
  return *registry;
}

}  // namespace magneto::natives
