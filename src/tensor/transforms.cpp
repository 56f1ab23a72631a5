// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's headers for functorch's levels need a library that it doesn't
// bring, so they are asked for in Python.
#include "tensor/transforms.h"

#include <ATen/SavedTensorHooks.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python/find.h"
#include "python/pending_error.h"
#include "tensor/ambient.h"

namespace magneto::tensor {

bool is_in_transform() noexcept {
  return c10::impl::tls_is_dispatch_key_included(
      c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

void leave_transforms() noexcept {
  // torch.func forbids hooks that pack saved tensors first.
  const auto& forbids =
      at::SavedTensorDefaultHooks::get_disabled_error_message();
  if (forbids && forbids->starts_with("torch.func."))
    at::SavedTensorDefaultHooks::enable();
  if (!is_in_transform()) return;
  python::PendingError error = python::PendingError::take();
  static PyObject* const leave = find_object(
      "torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth");
  static PyObject* const allow =
      find_object("torch._C._functorch.set_inplace_requires_grad_allowed");
  Ref none = Ref::steal(PyLong_FromLong(0));
  Ref left = Ref::steal(none ? PyObject_CallOneArg(leave, none) : nullptr);
  Ref allowed =
      Ref::steal(left ? PyObject_CallOneArg(allow, Py_False) : nullptr);
  MG_CHECK(allowed, "levels that are there can be left");
  leave_forward_level();
  std::move(error).restore();
}

}  // namespace magneto::tensor
