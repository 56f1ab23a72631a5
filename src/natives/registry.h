// SPDX-License-Identifier: BSD-3-Clause
// What callables written in C (and a few Python functions) mean while tracing:
// rows, one file of them per Python module or type, and the table that finds
// the row of a callable by its identity.
//
// A row names its callable as module and dotted name: {"builtins",
// "list.append"} is the descriptor in list.__dict__; classes without a name of
// their own are found in the module "<types>" (kNamelessTypes in registry.cpp).
// Functions that are made anew each time, as by a decorator, are told by their
// code:
// {"dataclasses", "_recursive_repr.<locals>.wrapper"}. The module is
// never imported for it: rows of a module wait until somebody has imported it.
#pragma once

#include <cstdint>
#include <span>

#include "values/protocol/protocol.h"

namespace magneto::natives {

// This room is written in the terms of that one throughout.
using namespace values;

// For methods, slot wrappers and getsets the receiver is positional[0]; that it
// is an instance of the right class has been checked. For functions that are
// told by their code, positional[0] is the function.
using Handler = Outcome<V> (*)(Context&, const Arguments&);
// The next item of an iterator, null at its end.
using NextItem = Outcome<V> (*)(Context&, V iterator);

enum class Meaning : uint8_t {
  Handle,    // `handler`
  Next,      // `next`: the __next__ of an iterator class
  Pure,      // called for real; the arguments are numbers, strings and the like
  Examine,   // the same, for functions that look at classes and functions
  Read,      // the same, for those that read the characters of texts
  Define,    // the same, and what the first one says of itself is guarded
  Evaluate,  // ... and annotations in words are evaluated
  Polyfill,  // a Python function of magneto.polyfills (`text`: "module.name")
             // is traced in its place
  Function,  // recorded in the graph as a call of this function
  Method,    // recorded in the graph as a call of this tensor method
  Break,     // the graph ends here; `text` is the hint
};

constexpr int8_t kAny = -1;

struct Row {
  const char* module;
  const char* name;
  Handler handler = nullptr;
  // Handle, Polyfill: how many positional arguments it takes, the receiver
  // included. CPython's own TypeError is raised for others, before the handler
  // is called.
  int8_t least = 0;
  int8_t most = kAny;
  // Handle: the keywords that it takes, separated by blanks; "*" for any.
  // Behind a "/": those that it needs are given by position.
  const char* text = "*";
  Meaning meaning = Meaning::Handle;
  NextItem next = nullptr;
};

namespace row {

constexpr Row next(const char* module, const char* name, NextItem function) {
  return {.module = module,
          .name = name,
          .meaning = Meaning::Next,
          .next = function};
}
constexpr Row pure(const char* module, const char* name) {
  return {.module = module, .name = name, .meaning = Meaning::Pure};
}
constexpr Row examine(const char* module, const char* name) {
  return {.module = module, .name = name, .meaning = Meaning::Examine};
}
constexpr Row reads(const char* module, const char* name) {
  return {.module = module, .name = name, .meaning = Meaning::Read};
}
constexpr Row definition(const char* module, const char* name) {
  return {.module = module, .name = name, .meaning = Meaning::Define};
}
constexpr Row evaluation(const char* module, const char* name) {
  return {.module = module, .name = name, .meaning = Meaning::Evaluate};
}
constexpr Row polyfill(const char* module, const char* name,
                       const char* function, int8_t least = 0,
                       int8_t most = kAny) {
  return {.module = module,
          .name = name,
          .least = least,
          .most = most,
          .text = function,
          .meaning = Meaning::Polyfill};
}
constexpr Row function(const char* module, const char* name) {
  return {.module = module, .name = name, .meaning = Meaning::Function};
}
constexpr Row method(const char* module, const char* name) {
  return {.module = module, .name = name, .meaning = Meaning::Method};
}
constexpr Row breaks(const char* module, const char* name,
                     const char* hint =
                         "call it outside of the compiled "
                         "function") {
  return {
      .module = module, .name = name, .text = hint, .meaning = Meaning::Break};
}

}  // namespace row

// The table of this process. Looks for modules that were imported since the
// last call, so each trace should ask for it once, at its start.
values::NativeTable& table();

// Has the meaning of a row, whatever the callable is: for handlers that end in
// one (`callable` is what the graph or an error message refers to).
Outcome<V> call_row(Context& ctx, const Row& row, PyObject* callable,
                    const Arguments& args);

// The Python function of magneto.polyfills that `path` ("itertools.product")
// names; null with a Python error where its module can't be imported.
PyObject* find_polyfill(const char* path);
// The same as a value.
Outcome<V> polyfill(Context& ctx, const char* path);
// Called in the traced program.
Outcome<V> call_polyfill(Context& ctx, const char* path, const Arguments& args);

// Attributes of tensors (torch/attributes.cpp); see values::NativeTable.
Outcome<V> tensor_attribute(Context& ctx, V tensor, PyObject* name);
Status set_tensor_attribute(Context& ctx, V tensor, PyObject* name, V value);

}  // namespace magneto::natives
