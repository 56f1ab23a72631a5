// SPDX-License-Identifier: BSD-3-Clause
// Regular expressions: the module re, called for real while tracing. A pattern
// is a key of its caches, so it must be plain data; of the text that is looked
// at C code reads no more than the characters.
#include "natives/builtins/derived.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "values/torch/torch_types.h"

namespace magneto::natives {

namespace {

constexpr const char* kOutside = "pass texts and numbers, or a function";

// A call with texts of which `key` is hashed and compared, null for none; false
// if an argument is no data.
Outcome<bool> call_with_key(Context& ctx, PyObject* real, const Arguments& args,
                            V key, Ref& result) {
  if (key && !argument_object(ctx, key)) return false;
  return call_really(ctx, real, args, result, read_object);
}

// re.match(pattern, string, ...) and its like.
template <Literal function>
Outcome<V> look_at_text(Context& ctx, const Arguments& args) {
  static PyObject* const real =
      find_object((std::string("re.") + function.text).c_str());
  Ref result;
  MG_TRY(bool called,
         call_with_key(ctx, real, args, argument(args, 0, name<"pattern">()),
                       result));
  if (called) return lift(ctx, std::move(result));
  return ctx.graph_break(
      "native-call",
      std::string("re.") + function.text + "() of what isn't plain data",
      kOutside);
}

// re.escape(text), which asks a text for its translate().
Outcome<V> escape(Context& ctx, const Arguments& args) {
  static PyObject* const real = find_object("re.escape");
  static PyObject* const translate = PyObject_GetAttr(
      reinterpret_cast<PyObject*>(&PyUnicode_Type), name<"translate">());
  V text = ctx.look(args.positional[0]);
  if (values::is_instance_of(text, &PyUnicode_Type) &&
      type_lookup(ctx, text->type, name<"translate">()) == translate)
    text = plain_text(ctx, text);
  Ref result;
  MG_TRY(bool called,
         call_really(ctx, real, {.positional = {&text, 1}}, result));
  if (called) return from_constant(ctx, std::move(result));
  return ctx.graph_break("native-call", "re.escape() of what isn't plain data",
                         kOutside);
}

// re.sub and re.subn: for real, unless the replacement is a function of the
// program's, which is traced. Replacements in words are remembered by re.
Outcome<V> substitute_really(Context& ctx, PyObject* real,
                             const Arguments& args, V pattern, V replacement,
                             const char* polyfill) {
  if (replacement) replacement = ctx.look(replacement);
  const bool is_text =
      !replacement ||
      (replacement->is_constant() &&
       (is_safe(replacement->object) || has_characters(replacement->object)));
  if (is_text && (!replacement || argument_object(ctx, replacement))) {
    Ref result;
    MG_TRY(bool called, call_with_key(ctx, real, args, pattern, result));
    if (called) return from_constant(ctx, std::move(result));
  }
  if (!is_text) (void)type_lookup(ctx, replacement->type, name<"__call__">());
  if (is_text || !replacement->type->tp_call)
    return ctx.graph_break("native-call", "re.sub() of what isn't plain data",
                           kOutside);
  return call_polyfill(ctx, polyfill, args);
}

template <Literal function>
Outcome<V> substitute(Context& ctx, const Arguments& args) {
  static PyObject* const real =
      find_object((std::string("re.") + function.text).c_str());
  return substitute_really(ctx, real, args,
                           argument(args, 0, name<"pattern">()),
                           argument(args, 1, name<"repl">()),
                           function.text[3] ? "text.subn" : "text.sub");
}

template <Literal method>
Outcome<V> substitute_in(Context& ctx, const Arguments& args) {
  static PyObject* const real = PyObject_GetAttr(
      reinterpret_cast<PyObject*>(values::torch_types().pattern),
      name<method>());
  return substitute_really(
      ctx, real, args, nullptr, argument(args, 1, name<"repl">()),
      method.text[3] ? "text.pattern_subn" : "text.pattern_sub");
}

// re.compile(pattern, flags=0), for real unless it prints.
Outcome<V> compile_pattern(Context& ctx, const Arguments& args) {
  static PyObject* const real = find_object("re.compile");
  constexpr long kDebug = 128;  // re.DEBUG
  V flags = argument(args, 1, name<"flags">());
  PyObject* number = flags ? as_constant(ctx, flags) : nullptr;
  const bool prints =
      number && PyLong_Check(number) && (PyLong_AsLong(number) & kDebug);
  if (!prints) {
    Ref result;
    MG_TRY(bool called, call_really(ctx, real, args, result, argument_object));
    if (called) return from_constant(ctx, std::move(result));
  }
  return ctx.graph_break(
      "native-call",
      prints ? "re.compile() prints with re.DEBUG" : "re.compile() of unknowns",
      "compile the pattern outside of the function");
}

#define MG_LOOK(function) \
  { "re", function, look_at_text<function>, 0, kAny, "*" }

constexpr Row kRows[] = {
    MG_LOOK("match"),
    MG_LOOK("search"),
    MG_LOOK("fullmatch"),
    MG_LOOK("findall"),
    MG_LOOK("split"),
    {"re", "sub", substitute<"sub">, 0, 5, "pattern repl string count flags"},
    {"re", "subn", substitute<"subn">, 0, 5, "pattern repl string count flags"},
    {"re", "compile", compile_pattern, 1, 2, "pattern flags"},
    {"re", "escape", escape, 1, 1, nullptr},
    {"re", "Pattern.sub", substitute_in<"sub">, 1, 4, "repl string count"},
    {"re", "Pattern.subn", substitute_in<"subn">, 1, 4, "repl string count"},
    row::polyfill("re", "Pattern.finditer", "text.finditer"),
    row::reads("re", "Pattern.match"),
    row::reads("re", "Pattern.search"),
    row::reads("re", "Pattern.fullmatch"),
    row::reads("re", "Pattern.findall"),
    row::reads("re", "Pattern.split"),
    row::examine("re", "Match.group"),
    row::examine("re", "Match.groups"),
    row::examine("re", "Match.groupdict"),
    row::examine("re", "Match.start"),
    row::examine("re", "Match.end"),
    row::examine("re", "Match.span"),
    row::examine("re", "Match.expand"),
    row::examine("re", "Match.__getitem__"),
    row::reads("magneto.polyfills.text", "matches"),
};

#undef MG_LOOK

}  // namespace

std::span<const Row> pattern_rows() { return kRows; }

}  // namespace magneto::natives
