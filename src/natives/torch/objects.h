// SPDX-License-Identifier: BSD-3-Clause
// Torch's own objects that handlers refer to, looked up once. They live as long
// as the process does, as the modules that hold them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python/find.h"

namespace magneto::natives {

struct TorchObjects {
  PyObject* getattr_function;  // builtins.getattr
  PyObject* get_data;          // torch._C._autograd._get_data_attr
  PyObject* set_data;          // torch.ops.aten.set_data.default
  PyObject* set_grad_enabled;  // torch._C._set_grad_enabled
  PyObject* enter_autocast;    // torch.amp.autocast_mode._enter_autocast
  PyObject* exit_autocast;     // torch.amp.autocast_mode._exit_autocast
  PyObject* module_module;     // the module torch.nn.modules.module
  PyTypeObject* tensor_type;   // type(torch.FloatTensor)
};

// Throws InternalError if one of them isn't there.
const TorchObjects& torch_objects();

}  // namespace magneto::natives
