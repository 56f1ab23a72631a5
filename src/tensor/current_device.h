// SPDX-License-Identifier: BSD-3-Clause
// The device that "cuda" without a number means: the thread's current one.
#pragma once

#include <c10/core/Device.h>

namespace magneto::tensor {

// The same device, with a number where its kind has several. Where that is the
// current one's, the trace has asked for it (asked_for_current_device()).
c10::Device numbered(c10::Device device);

// Forgets that somebody asked.
void forget_current_device() noexcept;

}  // namespace magneto::tensor
