// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/current_device.h"

#include <ATen/DeviceAccelerator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "tensor/ambient.h"
#include "tensor/fake_tensor.h"

namespace magneto::tensor {

namespace {

thread_local bool is_asked_for = false;

// A torch that was built without support for them has fakes of the first one.
c10::Device current_device(c10::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return {type, 0};
  return c10::impl::getDeviceGuardImpl(type)->getDevice();
}

}  // namespace

c10::Device numbered(c10::Device device) {
  if (device.has_index() || device.is_cpu() || device.is_meta()) return device;
  is_asked_for = true;
  return current_device(device.type());
}

void forget_current_device() noexcept { is_asked_for = false; }

bool asked_for_current_device() noexcept { return is_asked_for; }

int64_t current_device_state() noexcept {
  try {
    const auto accelerator = at::getAccelerator();
    return accelerator ? current_device(*accelerator).index() : -1;
  } catch (const c10::Error&) {
    return -1;  // in a forked process, say
  }
}

std::string print_index_state(int64_t value) { return std::to_string(value); }

}  // namespace magneto::tensor
