// SPDX-License-Identifier: BSD-3-Clause
// The default device: `with torch.device(...)` puts a mode on torch's stack of
// function modes, which gives the device to functions that make tensors
// (torch.utils._device). No ATen types.
//
// All need the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

#include "python/ref.h"
#include "support/journal.h"

namespace magneto::tensor {

// The innermost one (a torch.device), borrowed; null if there is none, or one
// that isn't torch's own. Runs no Python code.
PyObject* default_device() noexcept;

// Whether modes of the program's are on (torch.overrides.TorchFunctionMode,
// torch.utils._python_dispatch.TorchDispatchMode): they have a say in each
// operation.
bool has_own_modes() noexcept;

// The contexts that a trace has entered and not left. They are entered for
// real; the journal, and GlobalStateScope at the end, leave them again.
class DefaultDevices final : public OnePartJournaled {
 public:
  // False with a Python error set.
  bool enter(Journal& journal, PyObject* device);
  // The innermost one; there must be one.
  void leave(Journal& journal);

  bool empty() const noexcept { return open_.empty(); }
  // Outermost first.
  std::vector<PyObject*> open() const;

  bool is_restored(uint64_t, uint64_t innermost) const override {
    return this->innermost() == innermost;
  }
  std::string part_name(uint64_t) const override;
  std::string part_content(uint64_t) const override;
  void undo(uint64_t what, uint64_t) noexcept override;

 private:
  enum What : uint64_t { kEnter, kLeave };
  // Tells the stacks of contexts apart that there were.
  uint64_t innermost() const {
    return open_.empty() ? 0 : reinterpret_cast<uintptr_t>(open_.back().get());
  }
  std::vector<Ref> open_;  // modes
  std::vector<Ref> left_;  // those that were left, for undo()
};

}  // namespace magneto::tensor
