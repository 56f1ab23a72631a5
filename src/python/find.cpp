// SPDX-License-Identifier: BSD-3-Clause
#include "python/find.h"

#include <string>

#include "support/check.h"

namespace magneto {

PyObject* find_object(const char* path) {
  const std::string whole = path;
  Ref name = Ref::steal(PyUnicode_FromString(path));
  MG_CHECK(name, "out of memory");
  if (PyObject* module =
          PyDict_GetItemWithError(PyImport_GetModuleDict(), name))
    return module;
  size_t dot = whole.rfind('.');
  if (dot == std::string::npos) return nullptr;
  PyObject* owner = find_object(whole.substr(0, dot).c_str());
  if (owner == nullptr) return nullptr;
  Ref found =
      Ref::steal(PyObject_GetAttrString(owner, whole.substr(dot + 1).c_str()));
  if (!found) PyErr_Clear();
  return found.get();  // its owner keeps it
}

Ref import_module(const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  if (PyObject* found = PyDict_GetItemString(modules, name))
    return Ref::share(found);
  // Gives the package that the module is in.
  Ref package = Ref::steal(
      PyImport_ImportModuleLevel(name, nullptr, nullptr, nullptr, 0));
  if (!package) return nullptr;
  if (PyObject* found = PyDict_GetItemString(modules, name))
    return Ref::share(found);
  return package;
}

PyObject* builtins() {
  static PyObject* const found = [] {
    Ref module = import_module("builtins");
    MG_CHECK(module, "the module builtins");
    return PyModule_GetDict(module);
  }();
  return found;
}

PyObject* builtins_of(PyObject* globals) {
  static PyObject* const name = PyUnicode_InternFromString("__builtins__");
  PyObject* found = PyDict_GetItemWithError(globals, name);
  if (found == nullptr) return builtins();
  return PyModule_Check(found) ? PyModule_GetDict(found) : found;
}

std::string_view module_of_function(PyObject* callable) {
  if (!PyFunction_Check(callable)) return {};
  PyObject* module = reinterpret_cast<PyFunctionObject*>(callable)->func_module;
  if (!module || !PyUnicode_Check(module)) return {};
  const char* text = PyUnicode_AsUTF8(module);
  if (!text) PyErr_Clear();
  return text ? text : "";
}

}  // namespace magneto
