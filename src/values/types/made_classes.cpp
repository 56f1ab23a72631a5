// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/made_classes.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "python/find.h"
#include "support/forever.h"
#include "values/protocol/protocol.h"

namespace magneto::values {

namespace {

// Guards refer to classes weakly, so these live as long as the process: one
// for each class that a program makes, since the next trace takes it again.
struct Made {
  Ref type, args, keywords;
};
std::unordered_map<std::string, std::vector<Made>>& made_classes() {
  static auto* const made =
      forever(std::unordered_map<std::string, std::vector<Made>>());
  return *made;
}

PyObject* named_tuple() {
  static PyObject* const function = find_object("collections.namedtuple");
  return function;
}

// Texts tell 1 from True.
std::string description(PyObject* args, PyObject* keywords) {
  const Ref first = Ref::steal(PyObject_ASCII(args));
  const Ref second = Ref::steal(PyObject_ASCII(keywords));
  MG_CHECK(first && second, "plain data has a text");
  return std::string(PyUnicode_AsUTF8(first)) + PyUnicode_AsUTF8(second);
}

// A tuple in place of a list. A list that the compiled piece makes gets its
// items after all that is made with calls, and this call reads them.
Ref without_list(PyObject* object) {
  if (!PyList_Check(object)) return Ref::share(object);
  Ref tuple = Ref::steal(PyList_AsTuple(object));
  MG_CHECK(tuple, "out of memory");
  return tuple;
}

Ref without_lists_in(PyObject* tuple) {
  Ref copy = Ref::steal(PyTuple_New(PyTuple_GET_SIZE(tuple)));
  MG_CHECK(copy, "out of memory");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    PyTuple_SET_ITEM(copy.get(), i,
                     without_list(PyTuple_GET_ITEM(tuple, i)).release());
  return copy;
}

Ref without_lists_under(PyObject* dict) {
  Ref copy = Ref::steal(PyDict_Copy(dict));
  MG_CHECK(copy, "out of memory");
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    const Ref plain = without_list(value);
    MG_CHECK(PyDict_SetItem(copy, key, plain) == 0, "a key that is there");
  }
  return copy;
}

}  // namespace

Outcome<V> make_named_tuple_class(Context& ctx, Ref args, Ref keywords) {
  std::vector<Made>& alike = made_classes()[description(args, keywords)];
  for (const Made& made : alike) {
    if (ctx.is_made_alias(made.type)) continue;
    ctx.remember_alias(made.type);
    return ctx.constant(made.type.share());
  }
  Ref type = Ref::steal(PyObject_Call(named_tuple(), args, keywords));
  if (!type) return ctx.raise_from_python();
  ctx.remember_alias(type);
  V value = ctx.constant(type.share());
  alike.push_back(
      {std::move(type), without_lists_in(args), without_lists_under(keywords)});
  return value;
}

Construction class_construction(Context& ctx, PyObject* type) {
  for (const auto& [text, alike] : made_classes()) {
    for (const Made& made : alike) {
      if (made.type.get() != type) continue;
      Outcome<V> args = from_constant(ctx, made.args.share());
      Outcome<V> keywords = from_constant(ctx, made.keywords.share());
      MG_CHECK(args && keywords, "plain data");
      const Ref module = import_module("magneto.construct");
      Ref call =
          Ref::steal(module ? PyObject_GetAttrString(module, "call") : nullptr);
      MG_CHECK(call, "a function that is there");
      return {ctx.constant(std::move(call)),
              {ctx.constant_share(named_tuple()), *args, *keywords}};
    }
  }
  MG_CHECK(false, "a class that the trace made");
}

}  // namespace magneto::values
