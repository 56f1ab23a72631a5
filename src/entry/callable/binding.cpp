// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/binding.h"

#include "python/frame.h"

namespace magneto::entry {
namespace {

PyCodeObject* code_of(PyFunctionObject* function) {
  return reinterpret_cast<PyCodeObject*>(function->func_code);
}

// The parameter that a keyword names, or `end`. Names are interned almost
// always, so identity is tried first.
size_t parameter_named(PyCodeObject* code, PyObject* name, size_t begin,
                       size_t end) {
  PyObject* const* names = &PyTuple_GET_ITEM(code->co_localsplusnames, 0);
  for (size_t i = begin; i < end; ++i)
    if (names[i] == name) return i;
  for (size_t i = begin; i < end; ++i)
    if (PyUnicode_Compare(names[i], name) == 0) return i;
  return end;
}

}  // namespace

bool BoundArguments::bind(PyFunctionObject* function, PyObject* first,
                          PyObject* const* args, size_t nargs,
                          PyObject* keyword_names) {
  PyCodeObject* code = code_of(function);
  const bool has_stars = (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) != 0;
  const bool has_keywords =
      keyword_names != nullptr && PyTuple_GET_SIZE(keyword_names) > 0;
  const auto positional = static_cast<size_t>(code->co_argcount);
  if (!has_stars && !has_keywords && code->co_kwonlyargcount == 0 &&
      first == nullptr && nargs == positional) {
    values_ = {args, nargs};
    return true;
  }
  owned_ = FrameValues(python::argument_count(code));
  if (!bind_positional(function, first, args, nargs)) return false;
  if (code->co_flags & CO_VARKEYWORDS) {
    Ref rest = Ref::steal(PyDict_New());
    if (!rest) return false;
    owned_.put(owned_.size() - 1, std::move(rest));
  }
  if (has_keywords && !bind_keywords(function, args + nargs, keyword_names))
    return false;
  if (!fill_defaults(function)) return false;
  values_ = {owned_.span().data(), owned_.size()};
  return true;
}

bool BoundArguments::bind_positional(PyFunctionObject* function,
                                     PyObject* first, PyObject* const* args,
                                     size_t nargs) {
  PyCodeObject* code = code_of(function);
  const auto positional = static_cast<size_t>(code->co_argcount);
  const size_t shift = first ? 1 : 0;
  const size_t given = nargs + shift;
  auto argument = [&](size_t i) {
    return Ref::share(i < shift ? first : args[i - shift]);
  };
  const size_t direct = std::min(given, positional);
  for (size_t i = 0; i < direct; ++i) owned_.put(i, argument(i));
  if (!(code->co_flags & CO_VARARGS)) return given <= positional;
  Ref rest = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(given - direct)));
  if (!rest) return false;
  for (size_t i = direct; i < given; ++i)
    PyTuple_SET_ITEM(rest.get(), static_cast<Py_ssize_t>(i - direct),
                     argument(i).release());
  owned_.put(positional + static_cast<size_t>(code->co_kwonlyargcount),
             std::move(rest));
  return true;
}

bool BoundArguments::bind_keywords(PyFunctionObject* function,
                                   PyObject* const* values, PyObject* names) {
  PyCodeObject* code = code_of(function);
  const size_t named = static_cast<size_t>(code->co_argcount) +
                       static_cast<size_t>(code->co_kwonlyargcount);
  const auto only_positional = static_cast<size_t>(code->co_posonlyargcount);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    const size_t parameter =
        parameter_named(code, name, only_positional, named);
    if (parameter < named) {
      if (owned_[parameter]) return false;  // given twice
      owned_.put(parameter, Ref::share(values[i]));
      continue;
    }
    if (!(code->co_flags & CO_VARKEYWORDS)) return false;
    PyObject* rest = owned_[owned_.size() - 1];
    if (PyDict_SetItem(rest, name, values[i]) != 0) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

bool BoundArguments::fill_defaults(PyFunctionObject* function) {
  PyCodeObject* code = code_of(function);
  const auto positional = static_cast<size_t>(code->co_argcount);
  const auto named = positional + static_cast<size_t>(code->co_kwonlyargcount);
  PyObject* defaults = function->func_defaults;
  const size_t default_count =
      defaults ? static_cast<size_t>(PyTuple_GET_SIZE(defaults)) : 0;
  for (size_t i = 0; i < positional; ++i) {
    if (owned_[i]) continue;
    if (i + default_count < positional) return false;
    const auto at = static_cast<Py_ssize_t>(i + default_count - positional);
    owned_.put(i, Ref::share(PyTuple_GET_ITEM(defaults, at)));
  }
  for (size_t i = positional; i < named; ++i) {
    if (owned_[i]) continue;
    PyObject* name =
        PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(i));
    PyObject* value =
        function->func_kwdefaults
            ? PyDict_GetItemWithError(function->func_kwdefaults, name)
            : nullptr;
    if (!value) {
      PyErr_Clear();
      return false;
    }
    owned_.put(i, Ref::share(value));
  }
  return true;
}

}  // namespace magneto::entry
