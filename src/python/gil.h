// SPDX-License-Identifier: BSD-3-Clause
// The lock of the interpreter. PyTorch's bindings let go of it while kernels
// run, and rules over fake tensors run as kernels do.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto {

// Holds the lock until the end of the scope, whether or not the thread held it
// before.
class GilHeld {
 public:
  GilHeld() : before_(PyGILState_Ensure()) {}
  ~GilHeld() { PyGILState_Release(before_); }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  PyGILState_STATE before_;
};

}  // namespace magneto
