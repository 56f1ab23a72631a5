// SPDX-License-Identifier: BSD-3-Clause
#include "graph/state_functions.h"

namespace magneto::graph {

namespace {

Ref find(const char* module_name, const char* name) {
  Ref text = Ref::steal(PyUnicode_InternFromString(module_name));
  Ref module = Ref::steal(text ? PyImport_GetModule(text) : nullptr);
  Ref function =
      Ref::steal(module ? PyObject_GetAttrString(module, name) : nullptr);
  if (!function) PyErr_Clear();
  return function;
}

}  // namespace

StateFunctions find_state_functions() {
  constexpr const char* kAutocast = "torch.amp.autocast_mode";
  return {.is_grad_enabled = find("torch._C", "is_grad_enabled"),
          .set_grad_enabled = find("torch._C", "_set_grad_enabled"),
          .enter_autocast = find(kAutocast, "_enter_autocast"),
          .exit_autocast = find(kAutocast, "_exit_autocast")};
}

}  // namespace magneto::graph
