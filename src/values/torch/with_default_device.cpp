// SPDX-License-Identifier: BSD-3-Clause
#include "values/torch/with_default_device.h"

#include <algorithm>

#include "python/find.h"
#include "support/check.h"
#include "tensor/default_device.h"

namespace magneto::values {

namespace {

// Those that torch's mode looks out for.
bool takes_default_device(PyObject* callable) {
  static PyObject* const functions = [] {
    PyObject* module = find_object("torch.utils._device");
    Ref set = Ref::steal(
        module ? PyObject_CallMethod(module, "_device_constructors", "")
               : nullptr);
    MG_CHECK(set && PyAnySet_Check(set.get()), "a set of functions");
    return set.release();
  }();
  // What stands for torch.tensor where there are symbols, once it was imported.
  return callable == find_object("torch._refs.tensor") ||
         PySet_Contains(functions, callable) == 1;
}

}  // namespace

WithDefaultDevice::WithDefaultDevice(Context& ctx, PyObject* callable,
                                     const Arguments& args)
    : args_(args) {
  PyObject* device = tensor::default_device();
  if (device && takes_default_device(callable)) add(ctx, device);
}

void WithDefaultDevice::add(Context& ctx, PyObject* device) {
  static PyObject* const name = PyUnicode_InternFromString("device");
  names_.assign(args_.keyword_names.begin(), args_.keyword_names.end());
  values_.assign(args_.keyword_values.begin(), args_.keyword_values.end());
  V value = ctx.constant_share(device);
  const auto given = std::ranges::find(names_, name);
  if (given == names_.end()) {
    names_.push_back(name);
    values_.push_back(value);
  } else {
    V& old = values_[static_cast<size_t>(given - names_.begin())];
    if (ctx.look(old)->object != Py_None) return;
    old = value;
  }
  args_.keyword_names = names_;
  args_.keyword_values = values_;
}

}  // namespace magneto::values
