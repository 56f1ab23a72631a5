// SPDX-License-Identifier: BSD-3-Clause
// Undo records for what operations write to fake tensors: sizes and strides,
// storage, dtype, version counter, autograd history. One per thread.
#pragma once

#include <c10/core/TensorImpl.h>

namespace magneto::tensor {

// Must be called before a fake tensor is written to in any way; keeps what is
// needed to undo it. Does nothing while the thread has no journal.
void record_before_write(c10::TensorImpl* impl);
inline void record_before_write(const at::Tensor& tensor) {
  record_before_write(tensor.unsafeGetTensorImpl());
}
// The same for the size of a storage (resize_, set_).
void record_before_resize(c10::StorageImpl* storage);

}  // namespace magneto::tensor
