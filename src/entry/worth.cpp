// SPDX-License-Identifier: BSD-3-Clause
#include "entry/worth.h"

#include <string_view>

#include "python/find.h"
#include "tensor/fake_tensor.h"

namespace magneto::entry {
namespace {

using python::FrameRequest;

constexpr int kDepth = 3;
// So many objects are looked at: every call asks again.
constexpr int kMostObjects = 256;

// A tensor, or a module, or a container of such. Compiling a function that sees
// none of these gives an empty graph.
bool holds_tensor(PyObject* object, int depth, int& left) {
  if (object == nullptr || --left < 0) return false;
  if (tensor::is_tensor(object)) return true;
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    if (depth == 0) return false;
    PyObject** items = PySequence_Fast_ITEMS(object);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object) && left > 0;
         ++i)
      if (holds_tensor(items[i], depth - 1, left)) return true;
    return false;
  }
  if (PyDict_Check(object)) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (depth > 0 && left > 0 &&
           PyDict_Next(object, &position, &key, &value))
      if (holds_tensor(value, depth - 1, left)) return true;
    return false;
  }
  if (PyCell_Check(object))
    return holds_tensor(PyCell_GET(object), depth, left);
  return false;
}

bool holds_tensor(PyObject* object) {
  int left = kMostObjects;
  return holds_tensor(object, kDepth, left);
}

// nn.Module, once torch was imported. Lives as long as the process.
PyTypeObject* module_type() {
  static PyTypeObject* type = nullptr;
  if (type) return type;
  Ref torch_nn = import_module("torch.nn");
  Ref found = Ref::steal(torch_nn ? PyObject_GetAttrString(torch_nn, "Module")
                                  : nullptr);
  if (!found || !PyType_Check(found.get())) {
    PyErr_Clear();
    return nullptr;
  }
  type = reinterpret_cast<PyTypeObject*>(found.release());
  return type;
}

bool is_module(PyObject* object) {
  PyTypeObject* type = module_type();
  return object && type && PyObject_TypeCheck(object, type);
}

// The function names torch, or a module of torch's, in its globals.
bool mentions_torch(const FrameRequest& request) {
  PyObject* names = request.code->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* value =
        PyDict_GetItemWithError(request.globals, PyTuple_GET_ITEM(names, i));
    if (!value || !PyModule_Check(value)) continue;
    const char* name = PyModule_GetName(value);
    if (!name) {
      PyErr_Clear();
      continue;
    }
    const std::string_view view(name);
    if (view == "torch" || view.starts_with("torch.")) return true;
  }
  return false;
}

}  // namespace

bool is_worth_compiling(const FrameRequest& request) {
  for (PyObject* value : request.values)
    if (holds_tensor(value) || is_module(value)) return true;
  for (PyObject* cell : request.cells)
    if (holds_tensor(cell) || is_module(PyCell_GET(cell))) return true;
  return mentions_torch(request);
}

}  // namespace magneto::entry
