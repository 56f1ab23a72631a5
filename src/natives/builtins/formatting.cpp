// SPDX-License-Identifier: BSD-3-Clause
// format(), the fields of f-strings, and str.format: methods that Python code
// defines are inlined, as for str() and repr() (text.cpp).
#include <algorithm>

#include "natives/builtins/text.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "values/protocol/symbolic.h"
#include "values/types/digits_limit.h"

namespace magneto::natives {

namespace {

// As messages about arguments name them.
const char* name_of_argument(V value) {
  return value->type == Py_TYPE(Py_None) ? "None" : value->type->tp_name;
}

// object.__format__
Outcome<V> plain_format(Context& ctx, V value, V spec) {
  spec = ctx.look(spec);
  if (!spec->is_constant() || !PyUnicode_Check(spec->object))
    return ctx.raise(PyExc_TypeError,
                     std::string("__format__() argument must be str, not ") +
                         name_of_argument(spec));
  if (PyUnicode_GET_LENGTH(spec->object) > 0)
    return ctx.raise(PyExc_TypeError,
                     std::string("unsupported format string passed to ") +
                         value->type->tp_name + ".__format__");
  return str_of(ctx, value);
}

// Whether the builtin type's own __format__ asks str() for the text where no
// format is wanted: not of instances of the type itself.
bool asks_for_text(V value) {
  return (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
         (PyLong_Check(value->object) || PyFloat_Check(value->object) ||
          PyUnicode_Check(value->object));
}

// int.__format__(number, spec) and the like
template <Literal type>
Outcome<V> plain_format_by_name(Context& ctx, const Arguments& args) {
  static PyObject* const real =
      PyObject_GetAttr(find_object(type.text), interned().dunder_format);
  V value = ctx.look(args.positional[0]);
  V spec = ctx.look(args.positional[1]);
  if (value->is_constant() && asks_for_text(value) && spec->is_constant() &&
      PyUnicode_Check(spec->object) && PyUnicode_GET_LENGTH(spec->object) == 0)
    return str_of(ctx, value);
  Ref result;
  // A format asks nothing of a class derived from the type.
  MG_TRY(bool called, call_really(ctx, real, args, result, examined_object));
  if (called) return from_constant(ctx, std::move(result));
  return ctx.graph_break("native-call",
                         std::string(type.text) + ".__format__ of unknowns",
                         "format it outside of the compiled function");
}

}  // namespace

Outcome<V> format_of(Context& ctx, V value, V spec) {
  value = ctx.look_open(value);
  if (value->kind == Kind::Tensor) return data_in_text(ctx);
  PyObject* real_spec = nullptr;
  if (spec) {
    spec = ctx.look(spec);
    if (!spec->is_constant() || !PyUnicode_Check(spec->object))
      return ctx.raise(PyExc_TypeError,
                       std::string("format() argument 2 must be str, not ") +
                           name_of_argument(spec));
    real_spec = spec->object;
  }
  if (values::is_symbol(value)) {
    if (V text = text_of_number(ctx, value, real_spec)) return text;
  }
  const bool is_plain = !real_spec || PyUnicode_GET_LENGTH(real_spec) == 0;
  if (value->kind == Kind::Text && is_plain) return value;
  value = ctx.look(value);
  if (value->is_constant() && is_safe(value->object)) {
    if (!real_spec && PyUnicode_CheckExact(value->object)) return value;
    const bool is_own =
        values::own_special(ctx, value->type, interned().dunder_format) !=
        nullptr;
    if (!is_own && is_plain && asks_for_text(value)) return str_of(ctx, value);
    if (!is_own) {
      values::guard_digits_limit(ctx, value->object);
      return from_text(ctx, PyObject_Format(value->object, real_spec));
    }
  }
  V given = spec ? spec : ctx.string("");
  MG_TRY(V own,
         own_text_method(ctx, value, interned().dunder_format, {&given, 1}));
  if (own) return checked_text(ctx, own, "__format__");
  PyObject* format = interned().dunder_format;
  if (python::mro_lookup(value->type, format) !=
      python::mro_lookup(&PyBaseObject_Type, format))
    return ctx.graph_break("native-call",
                           std::string("format() of a ") + value->type->tp_name,
                           "format it outside of the compiled function");
  return plain_format(ctx, value, given);
}

Outcome<V> format_field(Context& ctx, V value, int conversion, V spec) {
  switch (conversion) {
    case 1: {
      MG_TRY(value, str_of(ctx, value));
      break;
    }
    case 2: {
      MG_TRY(value, repr_of(ctx, value));
      break;
    }
    case 3: {
      MG_TRY(value, ascii_of(ctx, value));
      break;
    }
    default:
      break;
  }
  return format_of(ctx, value, spec);
}

namespace {

Outcome<V> call_format(Context& ctx, const Arguments& args) {
  return format_of(ctx, args.positional[0], argument(args, 1));
}
Outcome<V> slot_format(Context& ctx, const Arguments& args) {
  return plain_format(ctx, ctx.look(args.positional[0]), args.positional[1]);
}

// str.format and format_map: for real on plain data, field by field otherwise.
template <Literal method, Literal polyfill>
Outcome<V> format_fields(Context& ctx, const Arguments& args) {
  static PyObject* const real = PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(&PyUnicode_Type), method.text);
  const auto holds = [&](V value) {
    return holds_symbol(ctx, value) || ctx.look_open(value)->kind == Kind::Dict;
  };
  // Without a field the text itself comes out.
  V text = ctx.look(args.positional[0]);
  const Py_ssize_t size = text->is_constant() && PyUnicode_Check(text->object)
                              ? PyUnicode_GET_LENGTH(text->object)
                              : 0;
  const auto has = [&](Py_UCS4 letter) {
    return PyUnicode_FindChar(text->object, letter, 0, size, 1) != -1;
  };
  if (size > 0 && !has('{') && !has('}')) return text;
  if (!std::ranges::any_of(args.positional, holds) &&
      !std::ranges::any_of(args.keyword_values, holds)) {
    Ref result;
    MG_TRY(bool called, call_really(ctx, real, args, result));
    if (called) return ctx.constant(std::move(result));
  }
  return call_polyfill(ctx, polyfill.text, args);
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "format", call_format, 1, 2, nullptr},
    {kBuiltins, "object.__format__", slot_format, 2, 2, nullptr},
    {kBuiltins, "int.__format__", plain_format_by_name<"builtins.int">, 2, 2,
     nullptr},
    {kBuiltins, "float.__format__", plain_format_by_name<"builtins.float">, 2,
     2, nullptr},
    {kBuiltins, "str.__format__", plain_format_by_name<"builtins.str">, 2, 2,
     nullptr},
    {kBuiltins, "str.format", format_fields<"format", "text.format_fields">, 1,
     kAny, "*"},
    {kBuiltins, "str.format_map",
     format_fields<"format_map", "text.format_map">, 2, 2, nullptr},
    row::examine("magneto.polyfills.text", "parsed"),
    row::examine("magneto.polyfills.text", "field_path"),
};

}  // namespace

std::span<const Row> format_rows() { return kRows; }

}  // namespace magneto::natives
