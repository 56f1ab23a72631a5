// SPDX-License-Identifier: BSD-3-Clause
// str() and repr(): methods that Python code defines are inlined,
// containers are written out here, and what is left is either plain data or
// has an address in its text, which only the real program knows.
#include "natives/builtins/text.h"

#include <opcode.h>

#include <algorithm>
#include <array>

#include "natives/builtins/encodings.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/names.h"
#include "python/types.h"
#include "values/model/identity.h"
#include "values/model/recursion.h"
#include "values/protocol/operands.h"
#include "values/protocol/symbolic.h"
#include "values/torch/torch_types.h"
#include "values/types/definitions.h"
#include "values/types/digits_limit.h"
#include "values/types/exception_groups.h"
#include "values/types/exceptions.h"
#include "values/types/sets.h"

namespace magneto::natives {

Outcome<V> from_text(Context& ctx, PyObject* fresh) {
  Ref text = Ref::steal(fresh);
  if (!text) return ctx.raise_from_python();
  return ctx.constant(std::move(text));
}

Outcome<V> checked_text(Context& ctx, V text, const char* method) {
  text = ctx.look_open(text);
  if (is_text(text)) return text;
  return ctx.raise(PyExc_TypeError,
                   method == std::string_view("__format__")
                       ? std::string("__format__ must return a str, not ") +
                             text->type->tp_name
                       : std::string(method) + " returned non-string (type " +
                             text->type->tp_name + ")");
}

Outcome<V> own_text_method(Context& ctx, V value, PyObject* method,
                           std::span<const V> more) {
  PyTypeObject* type = value->type;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
      (value->is_constant() || type == &PyTuple_Type || type == &PyList_Type ||
       type == &PyDict_Type || type == &PySet_Type)) {
    return nullptr;
  }
  PyObject* found = type_lookup(ctx, value->type, method);
  if (!found) return nullptr;
  if (values::own_special(ctx, type, method) || ctx.natives->has(found)) {
    MG_TRY(V bound, bind_descriptor(ctx, found, value, value->type, method));
    return call(ctx, bound, Arguments{.positional = more});
  }
  const bool in_c = Py_IS_TYPE(found, &PyWrapperDescr_Type) ||
                    Py_IS_TYPE(found, &PyMethodDescr_Type);
  if (value->is_constant() && in_c &&
      is_safe_type(reinterpret_cast<PyDescrObject*>(found)->d_type)) {
    std::vector<V> all{value};
    all.insert(all.end(), more.begin(), more.end());
    Ref result;
    MG_TRY(bool called, call_really(ctx, found, {.positional = all}, result,
                                    examined_object));
    if (called) return ctx.constant(std::move(result));
  }
  return nullptr;
}

Signal data_in_text(Context& ctx) {
  return ctx.graph_break("data-dependent", "the text of a tensor",
                         "print or format tensors outside of the compiled "
                         "function");
}

namespace {

Outcome<V> join_parts(Context& ctx, const std::string& open,
                      std::span<const V> parts, const char* close) {
  std::vector<V> all{ctx.string(open)};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) all.push_back(ctx.string(", "));
    all.push_back(parts[i]);
  }
  all.push_back(ctx.string(close));
  return concatenated(ctx, all);
}

// The containers whose text is being made, to end with "..." inside of
// themselves; `Whose` tells those of C code from those of Python's decorators.
template <class Whose>
class Nesting {
 public:
  explicit Nesting(V value) { open().push_back(value); }
  ~Nesting() { open().pop_back(); }
  static bool holds(V value) {
    return std::find(open().begin(), open().end(), value) != open().end();
  }

 private:
  static std::vector<V>& open() {
    static std::vector<V> values;
    return values;
  }
};

Outcome<V> repr_of_all(Context& ctx, const std::vector<V>& items,
                       const std::string& open, const char* close) {
  std::vector<V> parts;
  for (V item : items) {
    MG_TRY(V part, repr_of(ctx, item));
    parts.push_back(part);
  }
  return join_parts(ctx, open, parts, close);
}

// A torch.Size shows plain numbers, whatever their classes say.
Outcome<V> repr_of_size(Context& ctx, std::span<const V> sizes) {
  std::vector<V> items(sizes.begin(), sizes.end());
  for (V& item : items) {
    item = ctx.look_symbolic(item);
    if (!is_symbol(item)) {
      MG_TRY(item, values::as_index(ctx, item));
    }
  }
  return repr_of_all(ctx, items, "torch.Size([", "])");
}

Outcome<V> repr_of_mapping(Context& ctx, V value) {
  std::vector<V> keys, values, parts;
  for (const DictEntry* entry : dict_entries(ctx, value)) {
    keys.push_back(entry->key);
    values.push_back(entry->value);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    MG_TRY(V key, repr_of(ctx, keys[i]));
    MG_TRY(V item, repr_of(ctx, values[i]));
    MG_TRY(V part, concatenated(ctx, {key, ctx.string(": "), item}));
    parts.push_back(part);
  }
  return join_parts(ctx, "{", parts, "}");
}

Outcome<V> repr_of_ordered(Context& ctx, V value) {
  std::vector<V> pairs;
  if ((values::own_special(ctx, value->type, name<"items">()) ||
       values::overrides_attribute_lookup(ctx, value)) &&
      !dict_entries(ctx, value).empty()) {
    MG_TRY(V items, values::call_method(ctx, value, name<"items">(), {}));
    MG_DO(unpack(ctx, items, pairs));
    return repr_of_all(
        ctx, pairs, std::string(python::short_name(value->type)) + "([", "])");
  }
  for (const DictEntry* entry : dict_entries(ctx, value)) {
    V pair[] = {entry->key, entry->value};
    pairs.push_back(ctx.tuple(pair));
  }
  const std::string type = python::short_name(value->type);
  if (pairs.empty()) return ctx.string(type + "()");
  return repr_of_all(ctx, pairs, type + "([", "])");
}

Outcome<V> repr_of_set(Context& ctx, V value) {
  std::vector<V> items;
  for (const DictEntry* entry : set_entries(ctx, value))
    items.push_back(entry->key);
  const std::string type = python::short_name(value->type);
  if (items.empty()) return ctx.string(type + "()");
  if (values::own_special(ctx, value->type, interned().dunder_iter) ||
      values::own_special(ctx, value->type, interned().dunder_len)) {
    items.clear();
    MG_DO(values::unpack_to_list(ctx, value, items));
  }
  if (value->type == &PySet_Type) return repr_of_all(ctx, items, "{", "}");
  return repr_of_all(ctx, items, type + "({", "})");
}

Outcome<V> repr_of_exception(Context& ctx, V value) {
  V args = exception_field(ctx, value, interned().args);
  if (!args) return nullptr;
  std::vector<V> items;
  MG_DO(unpack(ctx, args, items));
  return repr_of_all(ctx, items,
                     std::string(python::short_name(value->type)) + "(", ")");
}

Signal address_in_text(Context& ctx, V value) {
  return ctx.graph_break(
      "native-call",
      std::string("the text of a ") + python::short_name(value->type),
      "give its class a __repr__, or make the text outside of the compiled "
      "function");
}

// What object.__repr__ says of an object of the caller's, where it is; its
// class has written the rest.
Outcome<V> text_with_address(Context& ctx, V value) {
  const V address = values::address_of(ctx, value);
  if (!address) return address_in_text(ctx, value);
  if (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    values::rely_on_name(ctx, reinterpret_cast<PyObject*>(value->type));
  const Ref whole = Ref::steal(PyBaseObject_Type.tp_repr(value->object));
  if (!whole) return ctx.raise_from_python();
  const std::string text = PyUnicode_AsUTF8(whole);
  const size_t begin = text.rfind("0x");
  MG_CHECK(begin != std::string::npos, "an address");
  MG_TRY(V written, format_of(ctx, address, ctx.string("#x")));
  return concatenated(ctx, std::array{ctx.string(text.substr(0, begin)),
                                      written, ctx.string(">")});
}

Outcome<V> repr_for(Context& ctx, V value, const char* asked);

// What tp_repr of the builtin classes does.
// `as`: the class whose repr it is, the value's own or one that it inherits
// from.
Outcome<V> plain_repr(Context& ctx, V value, const PyTypeObject* as) {
  if (value->is_constant()) {
    if (is_safe(value->object) || PyFunction_Check(value->object) ||
        PyType_Check(value->object) || PyModule_Check(value->object) ||
        PyCFunction_Check(value->object)) {
      if (PyFunction_Check(value->object) || PyType_Check(value->object))
        values::rely_on_name(ctx, value->object);
      values::guard_digits_limit(ctx, value->object);
      return from_text(ctx, as->tp_repr(value->object));
    }
    return as->tp_repr == PyBaseObject_Type.tp_repr
               ? text_with_address(ctx, value)
               : address_in_text(ctx, value);
  }
  using InC = Nesting<struct OfC>;
  if (InC::holds(value))
    return ctx.string(value->kind == Kind::List   ? "[...]"
                      : value->kind == Kind::Dict ? "{...}"
                                                  : "(...)");
  InC nesting(value);
  const values::RecursionScope scope;
  MG_DO(scope.check(ctx, " while getting the repr of an object"));
  switch (value->kind) {
    case Kind::Tuple: {
      auto items = tuple_items(value);
      PyObject* real =
          holds_symbol(ctx, value) ? nullptr : safe_object(ctx, value);
      if (real) {
        values::guard_digits_limit(ctx, real);
        return from_text(ctx, as->tp_repr(real));
      }
      if (as == values::torch_types().size) return repr_of_size(ctx, items);
      if (as->tp_repr != PyTuple_Type.tp_repr) break;
      return repr_of_all(ctx, {items.begin(), items.end()}, "(",
                         items.size() == 1 ? ",)" : ")");
    }
    case Kind::List:
      if (as->tp_repr != PyList_Type.tp_repr) break;
      return repr_of_all(ctx, ctx.heap.items(value->heap), "[", "]");
    case Kind::Dict:
      if (as->tp_repr == PyDict_Type.tp_repr)
        return repr_of_mapping(ctx, value);
      if (as->tp_repr == PyODict_Type.tp_repr)
        return repr_of_ordered(ctx, value);
      break;
    case Kind::Set:
      return repr_of_set(ctx, value);
    case Kind::Slice: {
      auto items = tuple_items(value);
      return repr_of_all(ctx, {items.begin(), items.end()}, "slice(", ")");
    }
    case Kind::Object:
      if (is_exception_type(value->type)) {
        MG_TRY(V text, repr_of_exception(ctx, value));
        if (text) return text;
      }
      break;
    default:
      break;
  }
  return as->tp_repr == PyBaseObject_Type.tp_repr
             ? text_with_address(ctx, value)
             : address_in_text(ctx, value);
}

Outcome<V> plain_repr(Context& ctx, V value) {
  return plain_repr(ctx, value, value->type);
}

// The builtin exception that makes its text of several arguments: UnicodeError
// and its like, OSError, SyntaxError. Null for those that show their arguments.
PyTypeObject* composes_text(PyTypeObject* type) {
  auto text_of = [](PyObject* exception) {
    return reinterpret_cast<PyTypeObject*>(exception)->tp_str;
  };
  while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) type = type->tp_base;
  return type->tp_str == text_of(PyExc_BaseException) ||
                 type->tp_str == text_of(PyExc_KeyError)
             ? nullptr
             : type;
}

Outcome<V> real_text(Context& ctx, PyTypeObject* type, V args) {
  PyObject* real = safe_object(ctx, args);
  if (!real)
    return ctx.graph_break("native-call",
                           std::string("the text of a ") + type->tp_name,
                           "make the text outside of the compiled function");
  values::guard_digits_limit(ctx, real);
  Ref made =
      Ref::steal(PyObject_CallObject(reinterpret_cast<PyObject*>(type), real));
  if (!made) return ctx.raise_from_python();
  return from_text(ctx, PyObject_Str(made));
}

Outcome<V> text_of_group(Context& ctx, V group) {
  const auto& slots = ctx.heap[group->heap].slots;
  std::vector<V> exceptions;
  MG_DO(unpack(ctx, slots[kExceptions], exceptions));
  MG_TRY(V message, str_of(ctx, slots[kMessage]));
  return binary_operation(
      ctx, NB_ADD, message,
      ctx.string(" (" + std::to_string(exceptions.size()) + " sub-exception" +
                 (exceptions.size() > 1 ? "s)" : ")")));
}

Outcome<V> plain_str(Context& ctx, V value) {
  if (value->is_constant() && is_safe(value->object)) {
    values::guard_digits_limit(ctx, value->object);
    return from_text(ctx, PyObject_Str(value->object));
  }
  if (value->kind == Kind::Object && is_exception_type(value->type)) {
    V args = exception_field(ctx, value, interned().args);
    if (!args) return address_in_text(ctx, value);
    if (values::is_group_type(value->type)) return text_of_group(ctx, value);
    if (PyTypeObject* builtin = composes_text(value->type))
      return real_text(ctx, builtin, args);
    std::vector<V> items;
    MG_DO(unpack(ctx, args, items));
    if (items.empty()) return ctx.string("");
    if (items.size() > 1) return repr_of(ctx, args);
    return PyType_IsSubtype(value->type,
                            reinterpret_cast<PyTypeObject*>(PyExc_KeyError))
               ? repr_of(ctx, items[0])
               : str_of(ctx, items[0]);
  }
  if (value->kind == Kind::Tensor) return data_in_text(ctx);
  if (values::is_implemented_in_c(ctx, value, interned().dunder_str))
    return ctx.graph_break(
        "native-call", std::string("the text of a ") + value->type->tp_name);
  return repr_for(ctx, value, "__str__");
}

// `asked`: the method whose result a text that is none would be.
Outcome<V> repr_for(Context& ctx, V value, const char* asked) {
  MG_TRY(V own, own_text_method(ctx, value, interned().dunder_repr, {}));
  if (own) return checked_text(ctx, own, asked);
  return plain_repr(ctx, value);
}

}  // namespace

Outcome<V> repr_of(Context& ctx, V value) {
  value = ctx.look_symbolic(value);
  if (values::is_symbol(value)) return text_of_number(ctx, value, nullptr);
  if (value->kind == Kind::Tensor) return data_in_text(ctx);
  return repr_for(ctx, value, "__repr__");
}

Outcome<V> str_of(Context& ctx, V value) {
  value = ctx.look_open(value);
  if (values::is_symbol(value)) return text_of_number(ctx, value, nullptr);
  if (value->kind == Kind::Tensor) return data_in_text(ctx);
  if (value->type == &PyUnicode_Type) return value;
  MG_TRY(V own, own_text_method(ctx, value, interned().dunder_str, {}));
  if (own) return checked_text(ctx, own, "__str__");
  return plain_str(ctx, value);
}

Outcome<V> ascii_of(Context& ctx, V value) {
  value = ctx.look_symbolic(value);
  MG_TRY(V text, repr_of(ctx, value));
  if (values::is_symbol(value)) return text;
  text = ctx.look(text);
  Ref bytes = Ref::steal(
      PyUnicode_AsEncodedString(text->object, "ascii", "backslashreplace"));
  if (!bytes) return ctx.raise_from_python();
  return from_text(ctx, PyUnicode_FromEncodedObject(bytes, "ascii", "strict"));
}

// -- rows ---------------------------------------------------------------------

namespace {

Outcome<V> call_repr(Context& ctx, const Arguments& args) {
  return repr_of(ctx, args.positional[0]);
}
Outcome<V> call_ascii(Context& ctx, const Arguments& args) {
  return ascii_of(ctx, args.positional[0]);
}
template <Literal type>
Outcome<V> slot_repr(Context& ctx, const Arguments& args) {
  static const auto* const as =
      reinterpret_cast<PyTypeObject*>(find_object(type.text));
  return plain_repr(ctx, ctx.look(args.positional[0]), as);
}
// object.__repr__, which says where the object is.
Outcome<V> object_repr(Context& ctx, const Arguments& args) {
  return text_with_address(ctx, ctx.look(args.positional[0]));
}
Outcome<V> slot_str(Context& ctx, const Arguments& args) {
  return plain_str(ctx, ctx.look(args.positional[0]));
}

// object.__str__
Outcome<V> slot_repr_as_str(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[0]);
  // Whoever asks for a text looks whether it is one.
  MG_TRY(V own, own_text_method(ctx, value, interned().dunder_repr, {}));
  if (own) return own;
  return plain_repr(ctx, value);
}

// str(object), str(bytes, encoding, errors)
Outcome<V> make_str(Context& ctx, const Arguments& args) {
  if (args.count() > 1 || args.has_keywords()) {
    MG_DO(check_encoding(ctx, args));
    Ref result;
    MG_TRY(bool called,
           call_really(ctx, reinterpret_cast<PyObject*>(&PyUnicode_Type), args,
                       result));
    if (called) return ctx.constant(std::move(result));
    V object = argument(args, 0, name<"object">());
    if (object && !args.keyword(name<"encoding">()) && args.count() <= 1)
      return str_of(ctx, object);
    return ctx.graph_break("native-call", "str() of an object with encoding",
                           "decode it outside of the compiled function");
  }
  return args.count() ? str_of(ctx, args.positional[0]) : ctx.string("");
}

// The cell that a function has for one of its free variables.
V free_variable(Context& ctx, V function, const char* variable) {
  auto* real = reinterpret_cast<PyFunctionObject*>(function->object);
  Ref names = Ref::steal(
      PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(real->func_code)));
  MG_CHECK(names, "out of memory");
  guards::SourceId closure =
      ctx.sources.field(ctx.sources.constant(function->object),
                        guards::SourceKind::FunctionClosure);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i),
                                         variable) != 0)
      continue;
    guards::SourceId cell =
        ctx.sources.tuple_item(closure, static_cast<size_t>(i));
    PyObject* content = PyCell_GET(PyTuple_GET_ITEM(real->func_closure, i));
    return content ? ctx.lazy(content, ctx.sources.cell_contents(cell))
                   : nullptr;
  }
  return nullptr;
}

// reprlib.recursive_repr and dataclasses' own form of it: a __repr__ that says
// "..." of an object inside of itself. They tell objects by their id(), which
// objects made by the trace don't have yet.
Outcome<V> recursive_repr(Context& ctx, const Arguments& args) {
  using InPython = Nesting<struct OfPython>;
  V wrapper = ctx.look(args.positional[0]);
  if (args.count() != 2 || args.has_keywords())
    return ctx.inliner->inline_function(wrapper, without(args, 1));
  V self = ctx.look(args.positional[1]);
  if (InPython::holds(self)) {
    V fill = free_variable(ctx, wrapper, "fillvalue");
    return fill ? fill : ctx.string("...");
  }
  V function = free_variable(ctx, wrapper, "user_function");
  MG_CHECK(function, "the wrapper has called it before");
  InPython nesting(self);
  return call(ctx, function, {self});
}

// str.join: any iterable of strings
Outcome<V> join(Context& ctx, const Arguments& args) {
  V separator = ctx.look(args.positional[0]);
  std::vector<V> parts;
  const Outcome<V> begun = iterate(ctx, args.positional[1]);
  MG_TRY(V iterator, values::iterator_or_error(ctx, begun, [] {
           return "can only join an iterable";
         }));
  MG_DO(unpack_to_list(ctx, iterator, parts));
  std::vector<V> all;
  for (size_t i = 0; i < parts.size(); ++i) {
    V part = ctx.look_open(parts[i]);
    if (!is_text(part))
      return ctx.raise(PyExc_TypeError, "sequence item " + std::to_string(i) +
                                            ": expected str instance, " +
                                            part->type->tp_name + " found");
    if (i) all.push_back(separator);
    all.push_back(part);
  }
  return concatenated(ctx, all);
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "repr", call_repr, 1, 1, nullptr},
    {kBuiltins, "ascii", call_ascii, 1, 1, nullptr},
    {kBuiltins, "str", make_str, 0, 3, "object encoding errors"},
    {kBuiltins, "str.join", join, 2, 2, nullptr},
    {kBuiltins, "list.__repr__", slot_repr<"builtins.list">, 1, 1, nullptr},
    {kBuiltins, "tuple.__repr__", slot_repr<"builtins.tuple">, 1, 1, nullptr},
    {kBuiltins, "dict.__repr__", slot_repr<"builtins.dict">, 1, 1, nullptr},
    {kBuiltins, "set.__repr__", slot_repr<"builtins.set">, 1, 1, nullptr},
    {kBuiltins, "frozenset.__repr__", slot_repr<"builtins.frozenset">, 1, 1,
     nullptr},
    {kBuiltins, "slice.__repr__", slot_repr<"builtins.slice">, 1, 1, nullptr},
    {kBuiltins, "object.__repr__", object_repr, 1, 1, nullptr},
    {kBuiltins, "object.__str__", slot_repr_as_str, 1, 1, nullptr},
    {kBuiltins, "BaseException.__repr__", slot_repr<"builtins.BaseException">,
     1, 1, nullptr},
    {kBuiltins, "BaseException.__str__", slot_str, 1, 1, nullptr},
    {kBuiltins, "BaseExceptionGroup.__str__", slot_str, 1, 1, nullptr},
    {kBuiltins, "KeyError.__str__", slot_str, 1, 1, nullptr},
    row::pure(kBuiltins, "str.maketrans"),
    row::pure(kBuiltins, "bytes.maketrans"),
    row::breaks(kBuiltins, "print", "print outside of the compiled function"),
    {"collections", "OrderedDict.__repr__",
     slot_repr<"collections.OrderedDict">, 1, 1, nullptr},
    {"dataclasses", "_recursive_repr.<locals>.wrapper", recursive_repr, 1, kAny,
     "*"},
    {"reprlib", "recursive_repr.<locals>.decorating_function.<locals>.wrapper",
     recursive_repr, 1, kAny, "*"},
};

}  // namespace

std::span<const Row> text_rows() { return kRows; }

}  // namespace magneto::natives
