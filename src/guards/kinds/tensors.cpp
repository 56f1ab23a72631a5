// SPDX-License-Identifier: BSD-3-Clause
// Tensors like the one that was seen, as the tensor room compares them:
// check_Tensor, which calls it, is inline in check.h.
#include "guards/hooks.h"
#include "guards/wording.h"

namespace magneto::guards {

Wording word_Tensor(const Check& check, const std::string& name,
                    PyObject* value) {
  const TensorHooks& hook = hooks().tensor;
  if (value != nullptr && hook.explain != nullptr)
    return {hook.explain(value, check.snapshot, name), ""};
  if (hook.describe != nullptr)
    return {hook.describe(check.snapshot, name), "it differs"};
  return {name + " is the tensor that was seen", "it differs"};
}

}  // namespace magneto::guards
