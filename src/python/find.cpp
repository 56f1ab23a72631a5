// SPDX-License-Identifier: BSD-3-Clause
#include "python/find.h"

#include <string>

#include "support/check.h"

namespace magneto {

namespace {

// A module that is in sys.modules; one that another thread is importing is
// there before it has anything.
Ref imported_module(PyObject* name) {
  Ref module = Ref::steal(PyImport_GetModule(name));
  if (!module) PyErr_Clear();
  return module;
}

// Python's own functions as they were when this was first asked.
PyObject* original_builtins() {
  static PyObject* const copy = PyDict_Copy(builtins());
  MG_CHECK(copy, "out of memory");
  return copy;
}

// Python's own `__import__` is in its place for the time of the scope: C code
// that loads a module goes by way of it, whatever a program has put there.
class OriginalImport {
 public:
  OriginalImport() {
    PyObject* own = original_builtin(kName);
    PyObject* found = PyDict_GetItemString(builtins(), kName);
    if (found == own) return;
    is_replaced_ = true;
    replacement_ = Ref::share(found);
    set(own);
  }
  ~OriginalImport() {
    if (is_replaced_) set(replacement_);
  }
  OriginalImport(const OriginalImport&) = delete;
  OriginalImport& operator=(const OriginalImport&) = delete;

 private:
  static constexpr const char* kName = "__import__";
  static void set(PyObject* function) {
    const int failed = function
                           ? PyDict_SetItemString(builtins(), kName, function)
                           : PyDict_DelItemString(builtins(), kName);
    if (failed) PyErr_WriteUnraisable(builtins());
  }

  bool is_replaced_ = false;
  Ref replacement_;
};

}  // namespace

PyObject* loaded_module(PyObject* name) {
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (!module || !PyModule_Check(module)) return module;
  PyObject* spec = PyDict_GetItemString(PyModule_GetDict(module), "__spec__");
  if (!spec || spec == Py_None) return module;
  Ref is_loading = Ref::steal(PyObject_GetAttrString(spec, "_initializing"));
  if (!is_loading) PyErr_Clear();
  return is_loading.get() == Py_True ? nullptr : module;
}

PyObject* find_object(const char* path) {
  const std::string whole = path;
  Ref name = Ref::steal(PyUnicode_FromString(path));
  MG_CHECK(name, "out of memory");
  if (Ref module = imported_module(name)) return module.get();
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
  Ref key = Ref::steal(PyUnicode_FromString(name));
  if (!key) return nullptr;
  const OriginalImport original;
  // Gives the package that the module is in.
  Ref package = Ref::steal(
      PyImport_ImportModuleLevel(name, nullptr, nullptr, nullptr, 0));
  if (!package) return nullptr;
  Ref found = imported_module(key);
  return found ? std::move(found) : std::move(package);
}

PyObject* original_builtin(const char* name) {
  PyObject* found = PyDict_GetItemString(original_builtins(), name);
  MG_CHECK(found, std::string("builtins.") + name);
  return found;
}

PyObject* builtins() {
  static PyObject* const found = [] {
    Ref module = Ref::steal(
        PyImport_ImportModuleLevel("builtins", nullptr, nullptr, nullptr, 0));
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
