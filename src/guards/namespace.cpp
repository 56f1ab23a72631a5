// SPDX-License-Identifier: BSD-3-Clause
#include "guards/namespace.h"

#include "guards/source.h"
#include "python/names.h"

namespace magneto::guards {
namespace {

PyObject* value_of(PyObject* dict, PyObject* name) {
  return read_dict_item(dict, name, PyObject_Hash(name)).value();
}

}  // namespace

PyObject* module_of_namespace(PyObject* dict) noexcept {
  if (!PyDict_CheckExact(dict)) return nullptr;
  PyObject* name = value_of(dict, interned().dunder_name);
  PyObject* modules = PyImport_GetModuleDict();
  if (name == nullptr || !PyUnicode_CheckExact(name) || modules == nullptr) {
    return nullptr;
  }
  PyObject* module = value_of(modules, name);
  if (module == nullptr || !PyModule_Check(module)) return nullptr;
  return PyModule_GetDict(module) == dict ? module : nullptr;
}

}  // namespace magneto::guards
