// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace magneto::natives {

// Fills in guards::hooks(): what the guards ask of tensors and of torch's state
// is answered by the tensor room. Once, before anything is compiled.
void install_guard_hooks();

}  // namespace magneto::natives
