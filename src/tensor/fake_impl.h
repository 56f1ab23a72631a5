// SPDX-License-Identifier: BSD-3-Clause
// The TensorImpl of a fake tensor: sizes, strides and everything else that a
// real one has, over a storage without memory that refuses to give a pointer.
// Any TensorImpl whose key set has DispatchKey::Fake counts as fake; this class
// adds that replacing its metadata (`x.data = y`) is journaled.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/SmallVector.h>

namespace magneto::tensor {

// The dimension type of shape rules. Holds a plain int in the static case.
using Dim = c10::SymInt;
using DimList = c10::SymIntArrayRef;
using DimVec = c10::SmallVector<c10::SymInt, 5>;

inline constexpr c10::DispatchKey kFakeKey = c10::DispatchKey::Fake;

inline bool is_fake(const c10::TensorImpl* impl) {
  return impl->key_set().has(kFakeKey);
}
inline bool is_fake(const at::Tensor& tensor) {
  return tensor.defined() && is_fake(tensor.unsafeGetTensorImpl());
}

class FakeImpl final : public c10::TensorImpl {
 public:
  FakeImpl(c10::Storage storage, c10::DispatchKeySet keys,
           caffe2::TypeMeta dtype)
      : TensorImpl(std::move(storage), keys, dtype) {}

  // Everything about a tensor that an operation may change except autograd's
  // part and the version.
  struct Metadata {
    c10::Storage storage;
    c10::impl::SizesAndStrides sizes_and_strides;
    int64_t storage_offset;
    caffe2::TypeMeta dtype;
    c10::DispatchKeySet keys;
    std::optional<c10::Device> device;
    std::unique_ptr<c10::ExtraMeta> extra;  // symbolic shape, rarely there
    bool symbolic;
  };
  Metadata metadata() const;
  void restore(Metadata metadata);

  // Drops keys that the constructor adds, or adds those it can't know
  // (inference tensors made outside of inference mode, conjugate views).
  void set_keys(c10::DispatchKeySet keys) { key_set_ = keys; }
  void set_storage(c10::Storage storage) { storage_ = std::move(storage); }
  void set_dtype(caffe2::TypeMeta dtype) { data_type_ = dtype; }

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy_and_detach(
      const c10::VariableVersion& version,
      bool allow_tensor_metadata_change) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy_and_detach(
      c10::VariableVersion&& version,
      bool allow_tensor_metadata_change) const override;
  void shallow_copy_from(
      const c10::intrusive_ptr<c10::TensorImpl>& impl) override;
  const char* tensorimpl_type_name() const override { return "FakeImpl"; }

  // Code that asks for plain numbers where sizes are symbols gets those of the
  // call that is traced, which a guard then asks for.
  c10::IntArrayRef sizes_custom() const override;
  c10::IntArrayRef strides_custom() const override;
  int64_t size_custom(int64_t dim) const override;
  int64_t numel_custom() const override;
  int64_t storage_offset_custom() const override;

 private:
  mutable c10::DimVector specialized_sizes_;
  mutable c10::DimVector specialized_strides_;
};

// A storage of that many bytes that has no memory.
c10::Storage make_storage(const Dim& bytes, c10::Device device);
// Whether a storage is one of those.
bool refuses_data(c10::StorageImpl* storage);

// Bytes that a tensor needs in its storage, beginning at the storage's start.
Dim storage_bytes(DimList sizes, DimList strides, const Dim& offset,
                  size_t item_size);

// A fake tensor with a storage of its own. Autograd keys are there unless
// inference mode is on, as for any tensor that torch makes.
at::Tensor make_tensor(DimList sizes, DimList strides, c10::ScalarType dtype,
                       c10::Device device);
at::Tensor make_contiguous(DimList sizes, c10::ScalarType dtype,
                           c10::Device device);

// A fake tensor over `base`'s storage. `base` may be real: then the storage is
// a new one, since a fake must not reach real memory.
at::Tensor make_view(const at::Tensor& base, DimList sizes, DimList strides,
                     const Dim& offset);
at::Tensor make_view(const at::Tensor& base, DimList sizes, DimList strides,
                     const Dim& offset, c10::ScalarType dtype);

}  // namespace magneto::tensor
