// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/saved_tensors.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "tensor/unwrap.h"

namespace magneto::tensor {

namespace {

// A counted pointer.
using History = std::remove_cvref_t<decltype(at::Tensor().grad_fn())>;

// As it is: asked for, a view's may be made anew.
History history_of(const at::Tensor& tensor) {
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  return meta ? meta->grad_fn_ : nullptr;
}

constexpr size_t kMostBytes = size_t{256} << 20;

// The elements that an expanded tensor has only once.
at::Tensor unexpanded(at::Tensor tensor) {
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1)
      tensor = tensor.narrow(dim, 0, 1);
  return tensor;
}

struct Saved {
  at::Tensor tensor;
  at::Tensor copy;
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  const c10::StorageImpl* storage;
  bool required_grad;
  History grad_fn;
  uint32_t output;  // of grad_fn
  std::optional<uint32_t> version;

  explicit Saved(const at::Tensor& of)
      : tensor(of),
        copy(unexpanded(of).clone()),
        sizes(of.sizes().vec()),
        strides(of.strides().vec()),
        offset(of.storage_offset()),
        storage(of.storage().unsafeGetStorageImpl()),
        required_grad(of.requires_grad()),
        grad_fn(history_of(of)),
        output(static_cast<uint32_t>(of.output_nr())) {
    if (!of.is_inference())
      version = torch::autograd::impl::version_counter(of).current_version();
  }

  bool has_other_history() const {
    return tensor.requires_grad() != required_grad ||
           history_of(tensor) != grad_fn;
  }
  bool can_be_put_back() const {
    return tensor.storage().unsafeGetStorageImpl() == storage &&
           (!has_other_history() ||
            (required_grad == (grad_fn != nullptr) && !tensor.is_view()));
  }
  void put_back() const {
    const bool got_a_history = has_other_history();
    if (got_a_history && grad_fn)
      torch::autograd::impl::set_gradient_edge(tensor, {grad_fn, output});
    else if (got_a_history)
      tensor.detach_();
    // As it was before out= resized it.
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(sizes, strides, offset);
    // Nobody has seen the values in between.
    const at::AutoDispatchBelowADInplaceOrView guard;
    unexpanded(tensor).copy_(copy);
    // Views know by its number which history they have.
    if (!version || got_a_history || required_grad) return;
    c10::VariableVersion counter =
        torch::autograd::impl::version_counter(tensor);
    counter.set_version(*version);
  }
};

bool has_plain_memory(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.has_storage() &&
         tensor.storage() &&
         !tensor.unsafeGetTensorImpl()->is_python_dispatch();
}

}  // namespace

class SavedTensors {
 public:
  std::vector<Saved> all;
};

SavedTensorsPtr save(std::span<PyObject* const> tensors) noexcept {
  try {
    size_t bytes = 0;
    for (PyObject* object : tensors) {
      const at::Tensor& tensor = tensor_of(object);
      if (!has_plain_memory(tensor)) return nullptr;
      bytes += tensor.nbytes();
    }
    if (bytes > kMostBytes) return nullptr;
    auto saved = std::make_shared<SavedTensors>();
    const at::AutoDispatchBelowADInplaceOrView guard;
    for (PyObject* object : tensors) saved->all.emplace_back(tensor_of(object));
    return saved;
  } catch (const std::exception&) {
    return nullptr;  // as without this help
  }
}

bool put_back(const SavedTensorsPtr& saved) noexcept {
  try {
    if (!std::ranges::all_of(saved->all, &Saved::can_be_put_back)) return false;
    for (const Saved& each : saved->all) each.put_back();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace magneto::tensor
