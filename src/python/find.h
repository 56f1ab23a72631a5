// SPDX-License-Identifier: BSD-3-Clause
// Objects by their dotted path.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string_view>

#include "python/ref.h"

namespace magneto {

// A module that is in sys.modules, and whose code has run to its end; borrowed.
// Null without an error if there is none.
PyObject* loaded_module(PyObject* name);

// A module that is in sys.modules, or an attribute of one, by dotted path;
// borrowed (modules and classes stay). Null without an error if there is none.
// Waits for another thread that imports it.
PyObject* find_object(const char* path);

// A module by name, imported if it isn't yet, which may mean to wait for
// another thread; null with an error set. Not by way of builtins.__import__,
// which a program may replace.
Ref import_module(const char* name);

// The namespace of Python's own functions; borrowed, as long as the process
// lives.
PyObject* builtins();

// One of Python's own functions, whatever a program has put in its place since
// this module was loaded; borrowed, as long as the process lives.
PyObject* original_builtin(const char* name);

// What functions with these globals find where those have no such name: that
// namespace, or what a program has put in its place (namedtuple does); borrowed
// from it.
PyObject* builtins_of(PyObject* globals);

// What a Python function has as its __module__, as long as it has it; empty for
// everything else.
std::string_view module_of_function(PyObject* callable);

// The class of Cython's functions, which bind as Python's do: each release has
// one of its own.
inline bool is_cython_function(PyTypeObject* type) {
  return std::string_view(type->tp_name).ends_with("cython_function_or_method");
}

}  // namespace magneto
