// SPDX-License-Identifier: BSD-3-Clause
// The default device goes into the calls of the graph that make tensors, as
// torch's mode for it (torch.utils._device) would put it there.
#pragma once

#include <vector>

#include "values/model/context.h"

namespace magneto::values {

// The arguments of a call, with the default device if it takes that. Refers to
// those that it is made from.
class WithDefaultDevice {
 public:
  WithDefaultDevice(Context& ctx, PyObject* callable, const Arguments& args);
  WithDefaultDevice(const WithDefaultDevice&) = delete;
  WithDefaultDevice& operator=(const WithDefaultDevice&) = delete;

  const Arguments& arguments() const { return args_; }

 private:
  void add(Context& ctx, PyObject* device);

  Arguments args_;
  std::vector<PyObject*> names_;
  std::vector<V> values_;
};

}  // namespace magneto::values
