// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/saved_tensors.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <unordered_set>
#include <utility>
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

// What a view is one of, where writes to it are part of its history.
at::Tensor differentiable_base(const at::Tensor& tensor) {
  const auto* meta = torch::autograd::impl::get_view_autograd_meta(tensor);
  return meta && meta->has_bw_view() ? meta->get_backward_view().base_
                                     : at::Tensor();
}

// How a tensor was computed.
struct Edge {
  History function;
  uint32_t output;
  bool requires_grad;  // as a leaf

  explicit Edge(const at::Tensor& of)
      : function(history_of(of)),
        output(static_cast<uint32_t>(of.output_nr())) {
    const auto* meta = torch::autograd::impl::get_autograd_meta(of);
    requires_grad = meta && meta->requires_grad_;
  }
  bool is_that_of(const at::Tensor& tensor) const {
    const Edge now(tensor);
    return now.function == function && now.requires_grad == requires_grad;
  }
  void put_back(const at::Tensor& to) const {
    auto* meta = torch::autograd::impl::materialize_autograd_meta(to);
    meta->grad_fn_ = function;
    meta->output_nr_ = output;
    meta->requires_grad_ = requires_grad;
  }
};

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
  Edge edge;
  at::Tensor base;  // see differentiable_base
  std::optional<Edge> base_edge;
  std::optional<uint32_t> version;

  explicit Saved(const at::Tensor& of)
      : tensor(of),
        copy(unexpanded(of).clone()),
        sizes(of.sizes().vec()),
        strides(of.strides().vec()),
        offset(of.storage_offset()),
        storage(of.storage().unsafeGetStorageImpl()),
        edge(of),
        base(differentiable_base(of)) {
    if (base.defined()) base_edge.emplace(base);
    if (!of.is_inference())
      version = torch::autograd::impl::version_counter(of).current_version();
  }

  bool has_other_history() const {
    return !edge.is_that_of(tensor) ||
           (base_edge && !base_edge->is_that_of(base));
  }
  bool can_be_put_back() const {
    return tensor.storage().unsafeGetStorageImpl() == storage;
  }
  // All but its version.
  void put_back() const {
    if (has_other_history()) put_back_history();
    // As it was before out= resized it.
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(sizes, strides, offset);
    // Nobody has seen the values in between.
    const at::AutoDispatchBelowADInplaceOrView guard;
    unexpanded(tensor).copy_(copy);
  }
  void put_back_version() const {
    if (!version) return;
    c10::VariableVersion counter =
        torch::autograd::impl::version_counter(tensor);
    counter.set_version(*version);
  }

 private:
  void put_back_history() const {
    keep_retaining();
    edge.put_back(tensor);
    if (!base_edge) return;
    base_edge->put_back(base);
    // Other views of the base ask it anew, as its version is another one now.
    torch::autograd::impl::get_view_autograd_meta(tensor)->set_attr_version(
        tensor._version());
  }
  // Torch's own note to keep the gradient went from one history to the other.
  void keep_retaining() const {
    const History now = history_of(tensor);
    if (!tensor.retains_grad() || !now || !edge.function ||
        now == edge.function)
      return;
    if (auto note = now->pop_retains_grad_hook(tensor.output_nr()))
      edge.function->add_retains_grad_hook(std::move(note), edge.output);
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
    // Views know by the version of their base, which has the same memory, which
    // history they have.
    std::unordered_set<const c10::StorageImpl*> renewed;
    for (const Saved& each : saved->all) {
      if (each.has_other_history()) renewed.insert(each.storage);
      each.put_back();
    }
    for (const Saved& each : saved->all)
      if (!renewed.contains(each.storage)) each.put_back_version();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace magneto::tensor
