// SPDX-License-Identifier: BSD-3-Clause
// `magneto._C.ModuleCall(slow)`: the `__call__` of CompiledModule. It calls
// what the instance has under "forward" without a Python frame; where the
// instance has hooks of its own it calls `slow`, which is nn.Module's
// `__call__`.
#pragma once

#include "python/ref.h"

namespace magneto::entry {

bool init_module_call_type(PyObject* module);

}  // namespace magneto::entry
