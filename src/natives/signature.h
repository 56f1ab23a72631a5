// SPDX-License-Identifier: BSD-3-Clause
// Arguments of native calls: how many, which keywords, and of what type.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// Raises the TypeError that CPython raises for a call with a wrong number of
// arguments or an unknown keyword.
Status check_signature(Context& ctx, const Row& row, PyObject* callable,
                       const Arguments& args);

// An interned name, made once: name<"start">().
template <size_t N>
struct Literal {
  char text[N];
  constexpr Literal(const char (&chars)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = chars[i];
  }
};
template <Literal literal>
PyObject* name() {
  static PyObject* const interned_name =
      PyUnicode_InternFromString(literal.text);
  return interned_name;
}

// A parameter that may be given by position or by name; null if it isn't.
inline V argument(const Arguments& args, size_t position, PyObject* keyword) {
  if (position < args.count()) return args.positional[position];
  return args.keyword(keyword);
}
inline V argument(const Arguments& args, size_t position) {
  return position < args.count() ? args.positional[position] : nullptr;
}

// The arguments without the first `count` positional ones.
inline Arguments without(const Arguments& args, size_t count) {
  return {.positional = args.positional.subspan(count),
          .keyword_values = args.keyword_values,
          .keyword_names = args.keyword_names};
}

// The interned name of an attribute; raises TypeError for other than strings.
Outcome<PyObject*> attribute_name(Context& ctx, V value,
                                  const char* message = nullptr);

// An integer, through __index__; as C code takes it that parses its arguments,
// and as slots do. The words for one that is too large differ.
Outcome<Py_ssize_t> index_argument(Context& ctx, V value);
Outcome<Py_ssize_t> slot_index(Context& ctx, V value);

// What is only called, looked at for that (Context::look_function). Null for
// None.
V callable_argument(Context& ctx, V value);
// One iterable at most besides the class, by position: what the constructors of
// tuple, set and frozenset take. `name`: whose text it is.
Status check_iterable_argument(Context& ctx, const Arguments& args,
                               const char* name, bool takes_keywords);
// operator.index(): an int of any size; of a tensor, one that the graph's run
// tells.
Outcome<V> operator_index(Context& ctx, V value);

}  // namespace magneto::natives
