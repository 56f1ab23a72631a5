// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/limits.h"

#include <torch/csrc/Exceptions.h>

#include "python/ref.h"
#include "tensor/fake_tensor.h"

namespace magneto::tensor {
namespace {

PyObject* needs_data_type = nullptr;  // made once, deliberately never freed

}  // namespace

bool initialize() {
  if (needs_data_type) return true;
  needs_data_type = PyErr_NewExceptionWithDoc(
      "magneto.NeedsDataError",
      "An operation on a tensor that is being traced needs the tensor's data.",
      PyExc_RuntimeError, nullptr);
  return needs_data_type != nullptr;
}

PyObject* needs_data_error() noexcept { return needs_data_type; }

void throw_needs_data(const std::string& message) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyErr_SetString(needs_data_type, message.c_str());
  python_error error;
  error.persist();
  PyGILState_Release(state);
  throw error;
}

}  // namespace magneto::tensor
