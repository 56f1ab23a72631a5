// SPDX-License-Identifier: BSD-3-Clause
// How in-place and out= operators deliver the results of a functional rule.
#include "tensor/out_variants.h"

#include "tensor/metadata_log.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

void check_castable(const at::Tensor& result, const at::Tensor& out) {
  TORCH_CHECK(c10::canCast(result.scalar_type(), out.scalar_type()),
              "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", out.scalar_type());
}

void deliver_in_place(const at::Tensor& result, const at::Tensor& self) {
  check_castable(result, self);
  TORCH_CHECK(self.sym_sizes().equals(result.sym_sizes()), "output with shape ",
              self.sym_sizes(), " doesn't match the broadcast shape ",
              result.sym_sizes());
}

void deliver_out(const at::Tensor& result, const at::Tensor& out) {
  check_castable(result, out);
  TORCH_CHECK(result.device() == out.device(), "Expected out tensor to be on ",
              result.device(), ", but it is on ", out.device());
  if (out.sym_sizes().equals(result.sym_sizes())) return;
  resize_tensor(out, result.sym_sizes(), result.sym_strides());
}

}  // namespace

void resize_tensor(const at::Tensor& tensor, DimList sizes, DimList strides) {
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  record_before_write(impl);
  // Copies: the arguments may be the tensor's own.
  DimVec new_sizes(sizes.begin(), sizes.end());
  DimVec new_strides(strides.begin(), strides.end());
  Dim offset = impl->sym_storage_offset();
  Dim bytes = storage_bytes(new_sizes, new_strides, offset, impl->itemsize());
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (storage->sym_nbytes() < bytes) {
    record_before_resize(storage);
    storage->set_nbytes(bytes);
  }
  impl->set_sizes_and_strides(new_sizes, new_strides, offset);
}

void deliver(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  if (op.kind == SchemaKind::InPlace) {
    deliver_in_place(outputs[0].toTensor(), args[0].toTensor());
    outputs[0] = args[0];
    return;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const c10::IValue& out = args[op.out_begin + i];
    deliver_out(outputs[i].toTensor(), out.toTensor());
    outputs[i] = out;
  }
}

}  // namespace magneto::tensor
