// SPDX-License-Identifier: BSD-3-Clause
// Text to bytes and back: while tracing only by codecs and error handlers of
// C's. The others are functions of the program's, which call_really must not
// run.
#include "natives/builtins/encodings.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "natives/pure.h"
#include "natives/signature.h"
#include "values/protocol/attributes.h"

namespace magneto::natives {

namespace {

constexpr const char* kEncodings[] = {
    "ascii",  "us_ascii",       "latin_1",
    "latin1", "iso_8859_1",     "iso8859_1",
    "utf_8",  "utf8",           "utf_8_sig",
    "utf_16", "utf_16_le",      "utf_16_be",
    "utf_32", "utf_32_le",      "utf_32_be",
    "utf_7",  "unicode_escape", "raw_unicode_escape",
};

constexpr const char* kErrorHandlers[] = {
    "strict",      "ignore",        "replace",         "backslashreplace",
    "namereplace", "surrogatepass", "surrogateescape", "xmlcharrefreplace",
};

// Whether `name`, if it is given, is one of the table; what is no str is
// refused by the call itself.
template <size_t count>
bool is_in(Context& ctx, V name, const char* const (&table)[count]) {
  if (!name) return true;
  name = ctx.look(name);
  if (!name->is_constant()) return false;
  if (!PyUnicode_Check(name->object)) return true;
  std::string text = values::attribute_name(name->object);
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(c));
  });
  return std::ranges::find(table, text) != std::end(table);
}

// str.encode and bytes.decode
template <PyTypeObject* type, Literal method>
Outcome<V> code(Context& ctx, const Arguments& args) {
  static PyObject* const real =
      PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name<method>());
  MG_DO(check_encoding(ctx, args));
  Ref result;
  MG_TRY(bool called, call_really(ctx, real, args, result, examined_object));
  if (called) return from_constant(ctx, std::move(result));
  return ctx.graph_break("native-call", describe(real) + " of unknown values",
                         "call it outside of the compiled function");
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "str.encode", code<&PyUnicode_Type, "encode">, 1, 3,
     "encoding errors"},
    {kBuiltins, "bytes.decode", code<&PyBytes_Type, "decode">, 1, 3,
     "encoding errors"},
};

}  // namespace

Status check_encoding(Context& ctx, const Arguments& args) {
  if (is_in(ctx, argument(args, 1, name<"encoding">()), kEncodings) &&
      is_in(ctx, argument(args, 2, name<"errors">()), kErrorHandlers))
    return done;
  return ctx.graph_break("native-call", "a codec that may be written in Python",
                         "encode or decode outside of the compiled function");
}

std::span<const Row> encoding_rows() { return kRows; }

}  // namespace magneto::natives
