// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/tensor_words.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <cstring>

#include "tensor/tensor_snapshot.h"
#include "tensor/unwrap.h"

namespace magneto::tensor {

namespace {

// Never made: a way to the places of TensorImpl's protected members.
struct Members : c10::TensorImpl {
  static constexpr auto kStorage = &Members::storage_;
  static constexpr auto kKeySet = &Members::key_set_;
  static constexpr auto kDtype = &Members::data_type_;
  static constexpr auto kDevice = &Members::device_opt_;
  static constexpr auto kStorageOffset = &Members::storage_offset_;
};

constexpr uint32_t kMostDims = C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE;

class WordList {
 public:
  WordList(const void** words, size_t capacity)
      : words_(words), capacity_(capacity) {}

  void add(const void* address) {
    if (count_ < capacity_) words_[count_] = address;
    ++count_;
  }
  size_t count() const { return count_ <= capacity_ ? count_ : 0; }

 private:
  const void** words_;
  size_t capacity_;
  size_t count_ = 0;
};

// The pointer to a tensor's autograd metadata stands behind its storage and is
// private; what is read there is compared with the accessor.
const void* autograd_place(const c10::TensorImpl* impl) {
  const auto* storage = &(impl->*Members::kStorage);
  const void* place = storage + 1;
  const void* found = nullptr;
  std::memcpy(&found, place, sizeof found);
  return found == impl->autograd_meta() ? place : nullptr;
}

// The device usually stands within the word that begins with the dtype.
void add_dtype_and_device(const c10::TensorImpl* impl, WordList& words) {
  const auto* dtype = reinterpret_cast<const char*>(&(impl->*Members::kDtype));
  const auto* device =
      reinterpret_cast<const char*>(&(impl->*Members::kDevice));
  words.add(dtype);
  const bool is_within =
      device > dtype &&
      device + sizeof(impl->*Members::kDevice) <= dtype + sizeof(uint64_t);
  if (!is_within) words.add(device);
}

// Whether it requires a gradient.
bool add_autograd(const c10::TensorImpl* impl, WordList& words) {
  const void* place = autograd_place(impl);
  if (place == nullptr) return false;
  words.add(place);
  const auto* meta =
      static_cast<const torch::autograd::AutogradMeta*>(impl->autograd_meta());
  if (meta == nullptr) return true;
  if (meta->is_view_) return false;  // asks its base as well
  words.add(&meta->requires_grad_);
  words.add(&meta->grad_fn_);
  return true;
}

}  // namespace

size_t metadata_words(PyObject* tensor, const TensorSnapshot& snapshot,
                      const void** addresses, size_t capacity) noexcept {
  const c10::TensorImpl* impl = impl_of(tensor);
  const uint32_t ndim = snapshot.sizes.size();
  if (!snapshot.plain || ndim > kMostDims) return 0;
  WordList words(addresses, capacity);
  words.add(&tensor->ob_type);
  words.add(&reinterpret_cast<THPVariable*>(tensor)->cdata);
  words.add(&(impl->*Members::kKeySet));
  add_dtype_and_device(impl, words);
  const auto& dims = const_cast<c10::TensorImpl*>(impl)->sizes_and_strides();
  words.add(&dims);  // begins with the number of dimensions
  for (uint32_t i = 0; i < ndim; ++i) {
    words.add(dims.sizes_data() + i);
    words.add(dims.strides_data() + i);
  }
  if (snapshot.extra & TensorSnapshot::kStorageOffset) {
    words.add(&(impl->*Members::kStorageOffset));
  }
  return add_autograd(impl, words) ? words.count() : 0;
}

}  // namespace magneto::tensor
