// SPDX-License-Identifier: BSD-3-Clause
// Whether the thread is in a transform of torch.func (vmap, grad, ...).
#pragma once

namespace magneto::tensor {

bool is_in_transform() noexcept;

// Leaves those that a graph which failed may have left open; none was entered
// before it. The Python error stays.
void leave_transforms() noexcept;

}  // namespace magneto::tensor
